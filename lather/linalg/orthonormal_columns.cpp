#include "lather/linalg/orthonormal_columns.hpp"

#include <Eigen/QR>
#include <cmath>
#include <limits>

#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/products.hpp"

namespace lather::linalg {

// The plain QR decomposition of a tall matrix is made of products and fast, the pivoted one is not: it
// follows on the triangle, which is small.
OrthonormalColumns orthonormal_columns(MatrixView b, double drop, TallQr& qr) {
  ++work_count().factorizations;
  auto B = eigen(b);
  const Eigen::Index n = B.cols();
  const Eigen::RowVectorXd lengths = B.colwise().norm().array() + std::numeric_limits<double>::min();
  B.array().rowwise() /= lengths.array();
  qr.reset(b.cols);
  qr.add_rows(b);
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> pivoted(eigen(qr.R()));
  const double first = std::abs(pivoted.matrixQR()(0, 0));
  Eigen::Index rank = 0;
  while (rank < n && std::abs(pivoted.matrixQR()(rank, rank)) > drop * first) ++rank;
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(rank, rank);
  pivoted.matrixQR().topLeftCorner(rank, rank).triangularView<Eigen::Upper>().solveInPlace(inverse);
  OrthonormalColumns result{static_cast<std::size_t>(rank),
                            std::vector<double>(b.cols * static_cast<std::size_t>(rank))};
  auto W = eigen(view(std::span<double>(result.W), b.cols, result.rank));
  const auto& places = pivoted.colsPermutation().indices();
  for (Eigen::Index k = 0; k < rank; ++k) W.row(places[k]) = inverse.row(k) / lengths[places[k]];
  return result;
}

}  // namespace lather::linalg
