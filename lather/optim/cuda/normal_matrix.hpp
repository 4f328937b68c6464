#pragma once
// J^T J or J J^T and its Cholesky factor on the GPU, for Levenberg–Marquardt.

#include <memory>
#include <span>
#include <vector>

#include "lather/optim/objective.hpp"

namespace lather::optim {

class DeviceNormalMatrix {
 public:
  virtual ~DeviceNormalMatrix() = default;
  virtual std::size_t dimension() const = 0;
  // At x: J^T J, with J^T r, and r^T r returned; or J J^T, with r.
  virtual double build_normal(std::span<const double> x, std::span<double> Jtr) = 0;
  virtual void build_gram(std::span<const double> x, std::span<double> r) = 0;
  virtual std::vector<double> diagonal() = 0;
  virtual void copy_to(std::span<double> matrix) const = 0;  // the matrix, to the host
  // Factors the matrix + diag(shift). False if that is not positive definite in this precision.
  virtual bool factor(std::span<const double> shift) = 0;
  virtual void solve(std::span<double> b) = 0;  // with the last factor; overwrites b
};

// Null where the objective does not live on the GPU.
std::unique_ptr<DeviceNormalMatrix> make_device_normal_matrix(Objective& objective, std::size_t dimension);

}  // namespace lather::optim
