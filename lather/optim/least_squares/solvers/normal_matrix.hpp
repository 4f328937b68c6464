#pragma once
// J^T J or J J^T at one x and its damped Cholesky factor, held where the rows of J are made: on the host or
// on the GPU.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "lather/optim/residuals.hpp"

namespace lather::optim {

// The path x + s d + s^2/2 a for one lambda: (J^T J + lambda D) d = -J^T r, (J^T J + lambda D) a = -J^T r''
// with r'' the second difference of r along h d, or a = 0 if it bends too much (formulas/geodesic.hpp).
// Includes the values at the first lengths, s = 1 and 1/2.
struct PathRequest {
  double lambda, h;
  bool marquardt;  // D = diag(J^T J)
};
struct Path {
  double lambda;
  bool positive_definite;  // if not, nothing else is known
  std::vector<double> d, a;
  std::array<double, 2> values;
};

class NormalMatrix {
 public:
  virtual ~NormalMatrix() = default;
  virtual std::size_t dimension() const = 0;
  virtual std::size_t bytes() const = 0;
  // At x: J^T J and J^T r, returning r^T r; or J J^T and r.
  virtual double build_normal(std::span<const double> x, std::span<double> Jtr) = 0;
  virtual void build_gram(std::span<const double> x, std::span<double> r) = 0;
  // build_normal and the path for one lambda in one go; false: not supported here, nothing was done.
  virtual bool build_along_path(std::span<const double> /*x*/, const PathRequest& /*request*/,
                                std::span<double> /*Jtr*/, double& /*value*/, Path& /*path*/) {
    return false;
  }
  virtual std::vector<double> diagonal() const = 0;
  virtual void copy_lower(std::span<double> matrix) const = 0;  // row-major, to the host
  // Factors the matrix + lambda diag(D). False if that is not positive definite in this precision.
  virtual bool factor(double lambda, std::span<const double> D) = 0;
  virtual void solve(std::span<double> b) = 0;  // with the last factor; overwrites b
  // Both. b is unspecified if the matrix is not positive definite.
  virtual bool factor_and_solve(double lambda, std::span<const double> D, std::span<double> b) {
    if (!factor(lambda, D)) return false;
    solve(b);
    return true;
  }
  // d = J^T w, then solve(d): for J^T J, with the x it was built at.
  virtual void solve_transposed(std::span<const double> x, std::span<const double> w,
                                std::span<double> d) = 0;
};

std::unique_ptr<NormalMatrix> make_host_normal_matrix(Residuals& residuals, std::size_t dimension);

}  // namespace lather::optim
