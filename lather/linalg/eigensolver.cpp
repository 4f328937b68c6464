#include "lather/linalg/eigensolver.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <vector>

#include "lather/core/interrupt.hpp"
#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/formulas/canonical.hpp"
#include "lather/linalg/products.hpp"

namespace lather::linalg {

namespace {

bool decompose(ConstMatrixView a, std::span<double> values, MatrixView vectors, int what) {
  ++work_count().factorizations;
  const auto A = eigen(a);
  if (!A.allFinite()) return false;
  using Solver = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>;
  constexpr std::size_t kLarge = 256;  // takes long, and cannot be stopped
  const Solver solver =
      a.rows <= kLarge
          ? Solver(A, what)
          : aside([copy = std::make_shared<const Eigen::MatrixXd>(A), what] { return Solver(*copy, what); });
  if (solver.info() != Eigen::Success) return false;
  const auto d = static_cast<Eigen::Index>(a.rows);
  for (Eigen::Index i = 0; i < d; ++i) values[i] = solver.eigenvalues()[d - 1 - i];
  if (what == Eigen::ComputeEigenvectors) eigen(vectors) = solver.eigenvectors().rowwise().reverse();
  return true;
}

}  // namespace

bool eigenvectors(ConstMatrixView a, std::span<double> values, MatrixView vectors) {
  assert(a.rows == a.cols && values.size() == a.rows && vectors.rows == a.rows && vectors.cols == a.rows);
  return decompose(a, values, vectors, Eigen::ComputeEigenvectors);
}

bool eigenvalues(ConstMatrixView a, std::span<double> values) {
  assert(a.rows == a.cols && values.size() == a.rows);
  return decompose(a, values, {}, Eigen::EigenvaluesOnly);
}

namespace {

// Columns first … first+size-1 of X become the canonical basis of the space they span.
void make_cluster_canonical(MatrixView x, std::size_t first, std::size_t size,
                            std::vector<double>& diagonal) {
  const std::size_t d = x.rows;
  for (std::size_t i = 0; i < d; ++i) {
    diagonal[i] = 0;
    for (std::size_t k = first; k < first + size; ++k) diagonal[i] += x(i, k) * x(i, k);
  }
  auto X = eigen(x);
  Eigen::VectorXd reflector(static_cast<Eigen::Index>(size));
  for (std::size_t k = first; k < first + size; ++k) {
    const double largest = *std::max_element(diagonal.begin(), diagonal.end());
    const auto pivot = static_cast<Eigen::Index>(
        std::find_if(diagonal.begin(), diagonal.end(), [&](double p) { return as_large_as(largest, p); }) -
        diagonal.begin());
    const auto rest = static_cast<Eigen::Index>(first + size - k);
    // A reflection of the remaining columns turns the pivot row into (r, 0, …, 0), r > 0.
    auto columns = X.middleCols(static_cast<Eigen::Index>(k), rest);
    auto w = reflector.head(rest);
    w = columns.row(pivot).transpose();
    const double norm = w.norm();
    if (rest == 1) {
      if (w[0] < 0) columns *= -1;
    } else if (norm > 0) {
      w[0] += w[0] >= 0 ? norm : -norm;  // avoids cancellation; the sign is fixed below
      const double square = w.squaredNorm();
      columns -= (columns * w) * (2 / square * w.transpose());
      if (columns(pivot, 0) < 0) columns.col(0) *= -1;
    }
    for (std::size_t i = 0; i < d; ++i) diagonal[i] -= x(i, k) * x(i, k);
  }
}

}  // namespace

namespace {

// What make_cluster_canonical does to clusters of one, for all columns at once and row by row, in memory
// order: the largest component becomes positive.
void make_signs_canonical(MatrixView x) {
  std::vector<double> largest(x.cols, 0.0);
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t k = 0; k < x.cols; ++k) largest[k] = std::max(largest[k], x(i, k) * x(i, k));
  std::vector<double> sign(x.cols, 0.0);  // 0: the deciding component has not been found yet
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t k = 0; k < x.cols; ++k)
      if (sign[k] == 0 && as_large_as(largest[k], x(i, k) * x(i, k))) sign[k] = x(i, k) < 0 ? -1 : 1;
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t k = 0; k < x.cols; ++k) x(i, k) *= sign[k];
}

}  // namespace

void make_canonical(std::span<const double> values, MatrixView vectors) {
  const std::size_t d = values.size();
  make_signs_canonical(vectors);
  std::vector<double> diagonal(vectors.rows);
  double scale = 0;
  for (const double value : values) scale = std::max(scale, std::abs(value));
  for (std::size_t first = 0; first < d;) {
    std::size_t last = first + 1;
    while (last < d && in_one_cluster(values[last - 1], values[last], scale)) ++last;
    if (last - first > 1) make_cluster_canonical(vectors, first, last - first, diagonal);
    first = last;
  }
}

void reorthonormalize(MatrixView x, std::span<double> scratch) {
  const std::size_t d = x.rows;
  assert(scratch.size() >= 2 * d * d);
  const MatrixView gram = view(scratch.first(d * d), d, d),
                   product = view(scratch.subspan(d * d, d * d), d, d);
  multiply_left_transposed(gram, x, x);
  eigen(gram) = -0.5 * eigen(gram);
  for (std::size_t i = 0; i < d; ++i) gram(i, i) += 1.5;
  multiply(product, x, gram);
  eigen(x) = eigen(product);
}

void orthonormal_factor(ConstMatrixView a, MatrixView q) {
  assert(a.rows == a.cols && q.rows == a.rows && q.cols == a.cols);
  ++work_count().factorizations;
  poll_stop();
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(eigen(a));
  eigen(q) = qr.householderQ() *
             Eigen::MatrixXd::Identity(static_cast<Eigen::Index>(a.rows), static_cast<Eigen::Index>(a.rows));
}

}  // namespace lather::linalg
