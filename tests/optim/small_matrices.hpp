#pragma once
// Products and inverses of small matrices for specifications. Every form of product that Eigen compiles takes
// seconds, so there is one here, linalg's, on explicit matrices (transposes too).

#include <cmath>
#include <initializer_list>

#include "lather/linalg/eigen_maps.hpp"
#include "lather/linalg/products.hpp"

namespace lather::optim::testing_support {

using Mat = linalg::EigenMatrix;

template <class View>
View view_of(auto& A) {
  return {A.data(), static_cast<std::size_t>(A.rows()), static_cast<std::size_t>(A.cols())};
}

inline Mat product(std::initializer_list<Mat> factors) {
  Mat result = *factors.begin();
  for (const Mat* factor = factors.begin() + 1; factor != factors.end(); ++factor) {
    Mat next(result.rows(), factor->cols());
    linalg::multiply(view_of<linalg::MatrixView>(next), view_of<linalg::ConstMatrixView>(result),
                     view_of<linalg::ConstMatrixView>(*factor));
    result = next;
  }
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
