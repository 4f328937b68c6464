#include "lather/optim/least_squares/solvers/kronecker_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/products.hpp"

namespace lather::optim {

namespace {

using linalg::ConstMatrixView;
using linalg::MatrixView;

// K^T first K = I and K^T second K = diag(s). Without `second`, s = 0.
bool diagonalize_both(ConstMatrixView given_first, ConstMatrixView given_second, AlignedVector& K,
                      AlignedVector& s) {
  const std::size_t n = given_first.rows;
  // Cache-aligned: the last bits of vectorized sums depend on the address, which differs in a resumed run.
  const AlignedVector first_values(given_first.data, given_first.data + given_first.size());
  const AlignedVector second_values(given_second.data, given_second.data + given_second.size());
  const ConstMatrixView first{first_values.data(), n, n}, second{second_values.data(), n, n};
  K.assign(n * n, 0.0);
  s.assign(n, 0.0);
  AlignedVector values(n), Q(n * n), P(n * n), work(n * n), middle(n * n);
  const MatrixView Q_view{Q.data(), n, n}, P_view{P.data(), n, n}, K_view{K.data(), n, n},
      work_view{work.data(), n, n}, middle_view{middle.data(), n, n};
  if (!linalg::eigenvectors(first, values, Q_view)) return false;
  // Rounding may have swallowed the damping; nothing below rounding is known.
  const double floor = std::max(values[0] * std::numeric_limits<double>::epsilon() * static_cast<double>(n),
                                std::numeric_limits<double>::min());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      work[i * n + j] = Q[i * n + j] / std::sqrt(std::max(values[j], floor));
  if (second_values.empty()) {
    K = std::move(work);
    return true;
  }
  linalg::multiply_right_transposed(P_view, work_view, Q_view);  // P = first^{-1/2}
  linalg::multiply(work_view, P_view, second);
  linalg::multiply(middle_view, work_view, P_view);
  if (!linalg::eigenvectors(middle_view, s, Q_view)) return false;
  for (double& value : s) value = std::max(value, 0.0);
  linalg::multiply(K_view, P_view, Q_view);
  return true;
}

}  // namespace

bool KroneckerSum::decompose(ConstMatrixView A1, ConstMatrixView B1, ConstMatrixView A2, ConstMatrixView B2) {
  return diagonalize_both(A1, A2, K_A_, s_A_) && diagonalize_both(B1, B2, K_B_, s_B_);
}

void KroneckerSum::solve(ConstMatrixView G, MatrixView X) const {
  const std::size_t m = s_A_.size(), n = s_B_.size();
  const ConstMatrixView K_A{K_A_.data(), m, m}, K_B{K_B_.data(), n, n};
  AlignedVector left(m * n), both(m * n);
  const MatrixView left_view{left.data(), m, n}, both_view{both.data(), m, n};
  linalg::multiply_left_transposed(left_view, K_A, G);
  linalg::multiply(both_view, left_view, K_B);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) both[i * n + j] /= 1 + s_A_[i] * s_B_[j];
  linalg::multiply(left_view, K_A, both_view);
  linalg::multiply_right_transposed(X, left_view, K_B);
}

}  // namespace lather::optim
