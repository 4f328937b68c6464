#include "lather/linalg/factorizations.hpp"

#include <Eigen/Cholesky>
#include <Eigen/SVD>
#include <algorithm>

#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/products.hpp"

namespace lather::linalg {

namespace {
Eigen::Map<Eigen::VectorXd> eigen_vector(std::span<double> b) {
  return {b.data(), static_cast<Eigen::Index>(b.size())};
}
}  // namespace

bool cholesky(MatrixView a) {
  assert(a.rows == a.cols);
  ++work_count().factorizations;
  auto A = eigen(a);
  Eigen::LLT<Eigen::Ref<EigenMatrix>, Eigen::Lower> llt(A);
  // NaN slips through Eigen's test of the pivots.
  return llt.info() == Eigen::Success && A.diagonal().allFinite();
}

void cholesky_solve(ConstMatrixView factor, std::span<double> b) {
  assert(factor.rows == b.size());
  auto x = eigen_vector(b);
  const auto C = eigen(factor);
  C.triangularView<Eigen::Lower>().solveInPlace(x);
  C.transpose().triangularView<Eigen::Upper>().solveInPlace(x);
}

void solve_lower(ConstMatrixView factor, MatrixView b) {
  assert(factor.rows == b.rows);
  auto B = eigen(b);
  eigen(factor).triangularView<Eigen::Lower>().solveInPlace(B);
}

bool thin_svd(ConstMatrixView a, MatrixView u, std::span<double> values, MatrixView v) {
  assert(values.size() == std::min(a.rows, a.cols));
  ++work_count().factorizations;
  const auto A = eigen(a);
  if (!A.allFinite()) return false;
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
  eigen(u) = svd.matrixU();
  eigen(v) = svd.matrixV();
  eigen_vector(values) = svd.singularValues();
  return true;
}

}  // namespace lather::linalg
