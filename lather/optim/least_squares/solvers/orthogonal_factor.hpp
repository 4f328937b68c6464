#pragma once
// The triangle R of J = Q R at one x, c = Q^T r, and those of the damped problem [J; sqrt(lambda D)], without
// ever forming J^T J: the condition number is that of J, not its square. Held where the rows of J are made; J
// itself is not held.

#include <memory>
#include <span>
#include <vector>

#include "lather/optim/residuals.hpp"

namespace lather::optim {

class OrthogonalFactor {
 public:
  virtual ~OrthogonalFactor() = default;
  virtual std::size_t bytes() const = 0;
  // R and c at x; writes J^T r, returns r^T r.
  virtual double build(std::span<const double> x, std::span<double> Jtr) = 0;
  virtual std::vector<double> diagonal() const = 0;        // of R^T R = J^T J
  virtual void copy_upper(std::span<double> R) const = 0;  // row-major, to the host
  // The triangle S of [R; sqrt(lambda D)] and what becomes of c. False if S is singular or not finite.
  virtual bool damp(double lambda, std::span<const double> D) = 0;
  virtual void solve(
      std::span<double> d) = 0;  // d = -(J^T J + lambda D)^{-1} J^T r = -S^{-1} (what c became)
  virtual void solve_normal(std::span<double> b) = 0;  // b = (J^T J + lambda D)^{-1} b = S^{-1} S^{-T} b
};

std::unique_ptr<OrthogonalFactor> make_host_orthogonal_factor(Residuals& residuals);
double host_orthogonal_factor_bytes(std::size_t parameters);

}  // namespace lather::optim
