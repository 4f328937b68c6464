#include "lather/linalg/factorizations.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <atomic>

#include "lather/core/interrupt.hpp"
#include "lather/core/threads.hpp"
#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/products.hpp"

namespace lather::linalg {

namespace {
Eigen::Map<Eigen::VectorXd> eigen_vector(std::span<double> b) {
  return {b.data(), static_cast<Eigen::Index>(b.size())};
}

// Eigen's factorizations cannot be stopped. Those of larger matrices, which take long, go on aside on a copy.
constexpr Eigen::Index kLarge = 256;

template <class A, class F>
auto stoppable(const A& a, F f) {
  using Matrix = Eigen::MatrixXd;
  if (std::min(a.rows(), a.cols()) <= kLarge) return f(Matrix(a));
  return aside([copy = std::make_shared<const Matrix>(a), f] { return f(*copy); });
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
          poll_stop();
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
  const auto A = eigen(a);
  if (team && a.rows > 2 * kBlock) return cholesky_in_blocks(A, *team);
  if (A.rows() <= kLarge) return cholesky_plain(A);
  const auto [factored, C] = aside([copy = std::make_shared<EigenMatrix>(A)] {
    const bool done = cholesky_plain(*copy);
    return std::pair(done, copy);
  });
  eigen(a).triangularView<Eigen::Lower>() = *C;
  return factored;
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
  const auto svd = stoppable(A, [](const Eigen::MatrixXd& copy) {
    return Eigen::BDCSVD<Eigen::MatrixXd>(copy, Eigen::ComputeThinU | Eigen::ComputeThinV);
  });
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
  eigen_vector(values) = stoppable(A, [](const Eigen::MatrixXd& copy) -> Eigen::VectorXd {
    const Eigen::MatrixXd upright = copy.rows() >= copy.cols() ? copy : copy.transpose();
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(upright);
    const Eigen::MatrixXd R = qr.matrixQR().topRows(upright.cols()).triangularView<Eigen::Upper>();
    return Eigen::BDCSVD<Eigen::MatrixXd>(R).singularValues();
  });
  return true;
}

void solve_least_squares(ConstMatrixView a, ConstMatrixView b, MatrixView x, double threshold) {
  assert(a.rows == b.rows && x.rows == a.cols && x.cols == b.cols);
  ++work_count().factorizations;
  const Eigen::MatrixXd B = eigen(b);
  eigen(x) = stoppable(eigen(a), [=](const Eigen::MatrixXd& copy) -> Eigen::MatrixXd {
    Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver;
    solver.setThreshold(threshold);
    solver.compute(copy);
    return solver.solve(B);
  });
}

}  // namespace lather::linalg
