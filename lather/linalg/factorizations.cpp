#include "lather/linalg/factorizations.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <atomic>

#include "lather/core/threads.hpp"
#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/products.hpp"

namespace lather::linalg {

namespace {
Eigen::Map<Eigen::VectorXd> eigen_vector(std::span<double> b) {
  return {b.data(), static_cast<Eigen::Index>(b.size())};
}

bool cholesky_plain(Eigen::Ref<EigenMatrix> A) {
  Eigen::LLT<Eigen::Ref<EigenMatrix>, Eigen::Lower> llt(A);
  // Eigen's pivot test lets NaN through.
  return llt.info() == Eigen::Success && A.diagonal().allFinite();
}

// Block column by block column: the diagonal block, the panel P below it, then the rest minus P P^T.
constexpr Eigen::Index kBlock = 96;

bool cholesky_in_blocks(Eigen::Ref<EigenMatrix> A, ThreadTeam& team) {
  using Eigen::Index;
  const Index n = A.rows();
  for (Index k = 0; k < n; k += kBlock) {
    const Index width = std::min(kBlock, n - k), end = k + width, blocks = (n - end + kBlock - 1) / kBlock;
    auto diagonal = A.block(k, k, width, width);
    if (!cholesky_plain(diagonal)) return false;
    const auto over_blocks = [&](const auto& work) {  // work(first row, rows), the longest rows first
      std::atomic<Index> next = 0;
      team.run([&](int) {
        for (Index i = next++; i < blocks; i = next++) {
          const Index row = end + (blocks - 1 - i) * kBlock;
          work(row, std::min(kBlock, n - row));
        }
      });
    };
    over_blocks([&](Index row, Index rows) {
      auto panel = A.block(row, k, rows, width);
      diagonal.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(panel);
    });
    over_blocks([&](Index row, Index rows) {
      const auto panel = A.block(row, k, rows, width);
      A.block(row, end, rows, row - end).noalias() -= panel * A.block(end, k, row - end, width).transpose();
      A.block(row, row, rows, rows).selfadjointView<Eigen::Lower>().rankUpdate(panel, -1);
    });
  }
  return true;
}

}  // namespace

bool cholesky(MatrixView a, ThreadTeam* team) {
  assert(a.rows == a.cols);
  ++work_count().factorizations;
  return team && a.rows > 2 * kBlock ? cholesky_in_blocks(eigen(a), *team) : cholesky_plain(eigen(a));
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

bool singular_values(ConstMatrixView a, std::span<double> values) {
  assert(values.size() == std::min(a.rows, a.cols));
  ++work_count().factorizations;
  const auto A = eigen(a);
  if (!A.allFinite()) return false;
  const Eigen::MatrixXd upright = a.rows >= a.cols ? Eigen::MatrixXd(A) : Eigen::MatrixXd(A.transpose());
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(upright);
  const Eigen::MatrixXd R = qr.matrixQR().topRows(upright.cols()).triangularView<Eigen::Upper>();
  eigen_vector(values) = Eigen::BDCSVD<Eigen::MatrixXd>(R).singularValues();
  return true;
}

void solve_least_squares(ConstMatrixView a, ConstMatrixView b, MatrixView x, double threshold) {
  assert(a.rows == b.rows && x.rows == a.cols && x.cols == b.cols);
  ++work_count().factorizations;
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver;
  solver.setThreshold(threshold);
  solver.compute(eigen(a));
  const Eigen::MatrixXd B = eigen(b);
  eigen(x) = solver.solve(B);
}

}  // namespace lather::linalg
