#pragma once
// The only way from our views to Eigen. Include it from .cpp files only: Eigen costs seconds of compile time.

#include <Eigen/Core>

#include "lather/linalg/matrix.hpp"

namespace lather::linalg {

using EigenMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Map<EigenMatrix> eigen(MatrixView a) {
  return {a.data, static_cast<Eigen::Index>(a.rows), static_cast<Eigen::Index>(a.cols)};
}
inline Eigen::Map<const EigenMatrix> eigen(ConstMatrixView a) {
  return {a.data, static_cast<Eigen::Index>(a.rows), static_cast<Eigen::Index>(a.cols)};
}

}  // namespace lather::linalg
