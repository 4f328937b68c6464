// One chunk B below the triangle R (the "triangle on top of a rectangle" QR of LAPACK's tpqrt). Reflector j
// acts on row j of R and on all rows of B: H_j = I - tau_j [e_j; v_j] [e_j; v_j]^T. A panel of reflectors is
// I - [E; V] T [E; V]^T with T upper triangular.

#include "lather/linalg/tall_qr.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "lather/core/threads.hpp"
#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/products.hpp"

namespace lather::linalg {

namespace {

using Eigen::Index;
using Strided = Eigen::Map<EigenMatrix, 0, Eigen::OuterStride<>>;
constexpr Index kPanelColumns = 32, kUpdateColumns = 96;

// Reflectors of the columns of V, which lie below columns [k, k + width) of R: applied to them, kept in V; T
// is filled.
void factor_panel(Strided& R, Index k, Eigen::MatrixXd& V, Eigen::MatrixXd& T) {
  const Index width = V.cols();
  T.setZero(width, width);
  for (Index j = 0; j < width; ++j) {
    auto v = V.col(j);
    double& corner = R(k + j, k + j);
    const double below = v.stableNorm();
    if (below == 0) continue;  // nothing to reflect
    const double length = std::hypot(corner, below), alpha = corner > 0 ? -length : length;
    const double first = corner - alpha, tau = -first / alpha;
    v /= first;
    corner = alpha;
    for (Index c = j + 1; c < width; ++c) {
      const double w = tau * (R(k + j, k + c) + v.dot(V.col(c)));
      R(k + j, k + c) -= w;
      V.col(c) -= w * v;
    }
    const Eigen::VectorXd products = V.leftCols(j).transpose() * v;
    T.col(j).head(j) = T.topLeftCorner(j, j).triangularView<Eigen::Upper>() * products;
    T.col(j).head(j) *= -tau;
    T(j, j) = tau;
  }
}

}  // namespace

void TallQr::reset(std::size_t columns) {
  if (columns == columns_) return R_.zero();
  columns_ = columns;
  R_ = Buffer<double>(columns * columns);
}

void TallQr::reset(const TallQr& other) {
  reset(other.columns_);
  std::copy_n(other.R_.data(), R_.size(), R_.data());
}

void TallQr::add_rows(MatrixView rows, std::size_t first_column, ThreadTeam* team) {
  assert(rows.cols == columns_);
  ++work_count().factorizations;
  const auto n = static_cast<Index>(columns_);
  Strided R(R_.data(), n, n, Eigen::OuterStride<>(n));
  Strided B(rows.data, static_cast<Index>(rows.rows), n, Eigen::OuterStride<>(n));
  Eigen::MatrixXd V, T;
  for (auto k = static_cast<Index>(first_column); k < n; k += kPanelColumns) {
    const Index width = std::min(kPanelColumns, n - k), end = k + width;
    V = B.middleCols(k, width);
    factor_panel(R, k, V, T);
    const Index parts = (n - end + kUpdateColumns - 1) / kUpdateColumns;
    std::atomic<Index> next = 0;
    const auto update = [&](int) {  // [R; B] -= [E; V] T^T ([E; V]^T [R; B])
      for (Index part = next++; part < parts; part = next++) {
        const Index from = end + part * kUpdateColumns, count = std::min(kUpdateColumns, n - from);
        EigenMatrix W = R.block(k, from, width, count);
        W.noalias() += V.transpose() * B.middleCols(from, count);
        W = T.transpose() * W;
        R.block(k, from, width, count) -= W;
        B.middleCols(from, count).noalias() -= V * W;
      }
    };
    if (team)
      team->run(update);
    else
      update(0);
  }
}

namespace {
auto leading(ConstMatrixView R, std::size_t size) {
  const auto n = static_cast<Index>(size);
  return eigen(R).topLeftCorner(n, n);
}
}  // namespace

void solve_upper(ConstMatrixView R, std::span<double> b) {
  Eigen::Map<Eigen::VectorXd> x(b.data(), static_cast<Index>(b.size()));
  leading(R, b.size()).triangularView<Eigen::Upper>().solveInPlace(x);
}

void solve_upper_transposed(ConstMatrixView R, std::span<double> b) {
  Eigen::Map<Eigen::VectorXd> x(b.data(), static_cast<Index>(b.size()));
  leading(R, b.size()).transpose().triangularView<Eigen::Lower>().solveInPlace(x);
}

}  // namespace lather::linalg
