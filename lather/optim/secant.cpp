#include "lather/optim/secant.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/products.hpp"

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
  return weighted_square(K, S, [&](double l, double r) { return 1 / ((l + left) * (r + right)); });
}

double paper_metric_exact(KroneckerPair& K, std::span<const double> S, double floor) {
  using linalg::eigen;
  linalg::EigenMatrix X = eigen(linalg::view(S, K.rows, K.cols));
  const auto factorize = [&](KroneckerSide& side) {
    ++linalg::work_count().factorizations;
    linalg::EigenMatrix A = eigen(side.factor_view());
    A.diagonal().array() += floor * largest_diagonal(side);
    return Eigen::LLT<linalg::EigenMatrix>(A);
  };
  if (K.left.active()) {
    const auto llt = factorize(K.left);
    if (llt.info() != Eigen::Success) return kInfinity;
    llt.solveInPlace(X);  // L^-1 S
  }
  if (K.right.active()) {
    const auto llt = factorize(K.right);
    if (llt.info() != Eigen::Success) return kInfinity;
    X = llt.solve(X.transpose()).transpose().eval();  // L^-1 S R^-1
  }
  return eigen(linalg::view(S, K.rows, K.cols)).cwiseProduct(X).sum();
}

double shampoo_metric(KroneckerPair& K, std::span<const double> S) {
  return weighted_square(K, S, [](double l, double r) { return std::sqrt(std::sqrt(std::max(l * r, 0.0))); });
}

double self_scaling(double c, double a, double tau_min, double tau_max) {
  if (!(c > 0 && a > 0)) return 1;
  return std::min(tau_max, std::max(tau_min, c / a));
}

}  // namespace lather::optim
