#pragma once
// A row-major matrix that owns its numbers.

#include <algorithm>
#include <vector>

#include "lather/linalg/matrix.hpp"

namespace lather::local {

struct Dense {
  std::size_t rows = 0, cols = 0;
  std::vector<double> values;

  Dense() = default;
  Dense(std::size_t r, std::size_t c) : rows(r), cols(c), values(r * c) {}
  double* row(std::size_t i) { return values.data() + i * cols; }
  const double* row(std::size_t i) const { return values.data() + i * cols; }
  linalg::MatrixView view() { return {values.data(), rows, cols}; }
  linalg::ConstMatrixView view() const { return {values.data(), rows, cols}; }
  // The same columns, further rows below.
  void append(const Dense& below) {
    if (rows == 0) cols = below.cols;
    values.insert(values.end(), below.values.begin(), below.values.end());
    rows += below.rows;
  }
};

}  // namespace lather::local
