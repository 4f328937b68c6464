#pragma once
// Products and inverses of small matrices for specifications. Sums as they are written: Eigen's own products
// are made for large matrices, and every form of one takes seconds to compile.

#include <cmath>
#include <initializer_list>

#include "lather/linalg/eigen_maps.hpp"

namespace lather::optim::testing_support {

using Mat = linalg::EigenMatrix;

inline Mat product(std::initializer_list<Mat> factors) {
  Mat result = *factors.begin();
  for (const Mat* factor = factors.begin() + 1; factor != factors.end(); ++factor)
    result = Mat(result.lazyProduct(*factor));
  return result;
}

// Gauss-Jordan with row pivots.
inline Mat inverse(Mat A) {
  Mat X = Mat::Identity(A.rows(), A.cols());
  for (Eigen::Index k = 0; k < A.rows(); ++k) {
    Eigen::Index pivot = k;
    for (Eigen::Index i = k + 1; i < A.rows(); ++i)
      if (std::abs(A(i, k)) > std::abs(A(pivot, k))) pivot = i;
    A.row(k).swap(A.row(pivot));
    X.row(k).swap(X.row(pivot));
    for (Eigen::Index i = 0; i < A.rows(); ++i) {
      if (i == k) continue;
      const double factor = A(i, k) / A(k, k);
      A.row(i) -= factor * A.row(k);
      X.row(i) -= factor * X.row(k);
    }
  }
  for (Eigen::Index k = 0; k < A.rows(); ++k) X.row(k) /= A(k, k);
  return X;
}

}  // namespace lather::optim::testing_support
