#pragma once
// Shared by the .cpp files of the matrix problems only (it includes Eigen). Products go through linalg: every
// kind of Eigen product takes seconds to compile.

#include <span>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/linalg/eigen_maps.hpp"

namespace lather::lab::matrix_problem {

using Matrix = linalg::EigenMatrix;
using Map = Eigen::Map<Matrix>;
using ConstMap = Eigen::Map<const Matrix>;

// One stream of random numbers per array, so that changing one size leaves the other arrays alone.
enum Stream : std::uint64_t { kStart = 1, kA, kB, kC, kTeacher, kMask, kBatch = 1000 };

inline Matrix normal_matrix(std::uint64_t seed, std::uint64_t stream, Eigen::Index rows, Eigen::Index cols) {
  const Random random(seed, stream);
  Matrix result(rows, cols);
  for (Eigen::Index i = 0; i < result.size(); ++i)
    result.data()[i] = random.normal(static_cast<std::uint64_t>(i));
  return result;
}

// View of a whole matrix, or of whole rows of one.
template <class Rows>
linalg::ConstMatrixView view(const Rows& A) {
  assert(A.rows() <= 1 || A.outerStride() == A.cols());
  return {A.data(), static_cast<std::size_t>(A.rows()), static_cast<std::size_t>(A.cols())};
}
Matrix product(linalg::ConstMatrixView A, linalg::ConstMatrixView B);                   // A B
Matrix product_left_transposed(linalg::ConstMatrixView A, linalg::ConstMatrixView B);   // A^T B
Matrix product_right_transposed(linalg::ConstMatrixView A, linalg::ConstMatrixView B);  // A B^T

// A^+ B
Matrix least_squares(const Matrix& A, const Matrix& B);

struct Spectrum {
  double condition;     // largest over smallest singular value; infinite if the latter is 0
  double nuclear_norm;  // sum of singular values
};
Spectrum spectrum(const Matrix& matrix);

}  // namespace lather::lab::matrix_problem
