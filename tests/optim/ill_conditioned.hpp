#pragma once
// A least-squares problem that the normal equations cannot solve in double precision, and its solution in
// quadruple precision.

#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "lather/core/rng.hpp"

namespace lather::optim::ill_conditioned {

// Singular values from 1 to 1e-12: those of J^T J end far below its rounding.
inline constexpr std::size_t kRows = 40, kColumns = 12;
inline std::vector<double> rows() {
  std::vector<double> J(kRows * kColumns);
  const auto reflect = [](std::span<double> v, const Random& random) {  // by a random Householder reflection
    double dot = 0, squares = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      dot += random.normal(i) * v[i];
      squares += random.normal(i) * random.normal(i);
    }
    for (std::size_t i = 0; i < v.size(); ++i) v[i] -= 2 * dot / squares * random.normal(i);
  };
  std::vector<double> row(kColumns), column(kRows);
  for (std::size_t k = 0; k < kColumns; ++k) {
    std::fill(row.begin(), row.end(), 0.0);
    std::fill(column.begin(), column.end(), 0.0);
    row[k] = std::pow(10.0, -12.0 * static_cast<double>(k) / (kColumns - 1));
    column[k] = 1;
    reflect(row, Random(3, 1));
    reflect(column, Random(3, 2));
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kColumns; ++j) J[i * kColumns + j] += column[i] * row[j];
  }
  return J;
}

// (J^T J + shift I)^{-1} J^T r by elimination in quadruple precision.
inline std::vector<double> exact_solution(std::span<const double> J, std::span<const double> r,
                                          __float128 shift) {
  constexpr std::size_t n = kColumns;
  std::vector<__float128> A(n * n), b(n);
  for (std::size_t k = 0; k < r.size(); ++k)
    for (std::size_t i = 0; i < n; ++i) {
      b[i] += static_cast<__float128>(J[k * n + i]) * r[k];
      for (std::size_t j = 0; j < n; ++j)
        A[i * n + j] += static_cast<__float128>(J[k * n + i]) * J[k * n + j];
    }
  for (std::size_t i = 0; i < n; ++i) A[i * (n + 1)] += shift;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const __float128 factor = A[i * n + k] / A[k * n + k];
      for (std::size_t j = k; j < n; ++j) A[i * n + j] -= factor * A[k * n + j];
      b[i] -= factor * b[k];
    }
  std::vector<double> x(n);
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= A[i * n + j] * b[j];
    b[i] /= A[i * n + i];
    x[i] = static_cast<double>(b[i]);
  }
  return x;
}

// In the range of J, so that no small singular value is amplified.
inline std::vector<double> right_hand_side(std::span<const double> J) {
  std::vector<double> r(kRows);
  for (std::size_t k = 0; k < kRows; ++k)
    r[k] = std::accumulate(&J[k * kColumns], &J[k * kColumns] + kColumns, 0.0);
  return r;
}

}  // namespace lather::optim::ill_conditioned
