#pragma once
// Shared by the .cpp files of the matrix problems only (it includes Eigen).

#include <Eigen/Dense>
#include <span>
#include <vector>

#include "lather/core/rng.hpp"

namespace lather::optim::matrix_problem {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
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

struct Spectrum {
  double condition;     // largest over smallest singular value; infinite if that is 0
  double nuclear_norm;  // sum of singular values
};
Spectrum spectrum(const Matrix& matrix);

}  // namespace lather::optim::matrix_problem
