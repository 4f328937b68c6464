#include "lather/optim/kronecker/ss_esoap_metric.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "lather/linalg/factorizations.hpp"
#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest_diagonal(const KroneckerSide& side) {
  double largest = 0;
  for (std::size_t i = 0; i < side.d; ++i) largest = std::max(largest, side.factor[i * side.d + i]);
  return largest;
}

// Diagonal entry i of a factor in its basis; a side without a factor counts as the identity.
double eigenvalue(const KroneckerSide& side, std::size_t i) {
  return side.active() ? side.factor[i * side.d + i] : 1;
}

template <class Weight>
double weighted_square(const KroneckerPair& K, std::span<const double> S, Weight weight) {
  double sum = 0;
  for (std::size_t i = 0; i < K.rows; ++i) {
    const double left = eigenvalue(K.left, i);
    double row = 0;
    for (std::size_t j = 0; j < K.cols; ++j) {
      const double s = S[i * K.cols + j];
      if (s != 0)
        row += s * s * weight(left, eigenvalue(K.right, j));  // a zero in a singular direction has no energy
    }
    sum += row;
  }
  return sum;
}

}  // namespace

double paper_metric_rayleigh(KroneckerPair& K, std::span<const double> S, double floor) {
  const double left = floor * largest_diagonal(K.left), right = floor * largest_diagonal(K.right);
  return weighted_square(K, S, [&](double l, double r) { return paper_metric_weight(l + left, r + right); });
}

double paper_metric_exact(KroneckerPair& K, std::span<const double> S, double floor) {
  // Tr(S^T L^-1 S R^-1) = |X|^2 with X = C_L^-1 S C_R^-T, where L = C_L C_L^T and R = C_R C_R^T.
  std::vector<double> X(S.begin(), S.end());
  const auto divide = [&](KroneckerSide& side, linalg::MatrixView rows) {  // rows = C^-1 rows
    if (!side.active()) return true;
    std::vector<double> C(side.factor.begin(), side.factor.end());
    const double shift = floor * largest_diagonal(side);
    for (std::size_t i = 0; i < side.d; ++i) C[i * side.d + i] += shift;
    const linalg::MatrixView factor{C.data(), side.d, side.d};
    if (!linalg::cholesky(factor)) return false;
    linalg::solve_lower(factor, rows);
    return true;
  };
  if (!divide(K.left, {X.data(), K.rows, K.cols})) return kInfinity;
  std::vector<double> transposed(X.size());
  for (std::size_t i = 0; i < K.rows; ++i)
    for (std::size_t j = 0; j < K.cols; ++j) transposed[j * K.rows + i] = X[i * K.cols + j];
  if (!divide(K.right, {transposed.data(), K.cols, K.rows})) return kInfinity;
  return dot(transposed, transposed);
}

double factor_metric(SecantMetric metric, KroneckerPair& K, std::span<const double> S) {
  return weighted_square(K, S, [=](double l, double r) { return factor_metric_weight(metric, l, r); });
}

}  // namespace lather::optim
