#pragma once
// Row-major matrices as optimizers see them: a pointer and a shape. Nothing here owns memory, and no Eigen
// header is needed.

#include <cassert>
#include <cstddef>
#include <span>

namespace lather::linalg {

struct ConstMatrixView {
  const double* data = nullptr;
  std::size_t rows = 0, cols = 0;
  double operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
  std::size_t size() const { return rows * cols; }
};

struct MatrixView {
  double* data = nullptr;
  std::size_t rows = 0, cols = 0;
  double& operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
  std::size_t size() const { return rows * cols; }
  operator ConstMatrixView() const { return {data, rows, cols}; }
};

inline MatrixView view(std::span<double> values, std::size_t rows, std::size_t cols) {
  assert(values.size() == rows * cols);
  return {values.data(), rows, cols};
}
inline ConstMatrixView view(std::span<const double> values, std::size_t rows, std::size_t cols) {
  assert(values.size() == rows * cols);
  return {values.data(), rows, cols};
}

}  // namespace lather::linalg
