#pragma once
// J^T J and its Cholesky factor on the GPU, for Levenberg–Marquardt.

#include <memory>
#include <span>
#include <vector>

#include "lather/optim/objective.hpp"

namespace lather::optim {

class DeviceNormalMatrix {
 public:
  virtual ~DeviceNormalMatrix() = default;
  // At x: J^T r, and r^T r returned.
  virtual double build(std::span<const double> x, std::span<double> Jtr) = 0;
  virtual std::vector<double> diagonal() = 0;
  virtual void copy_to(std::span<double> matrix) const = 0;  // J^T J, to the host
  // Factors J^T J + diag(shift). False if that is not positive definite in this precision.
  virtual bool factor(std::span<const double> shift) = 0;
  virtual void solve(std::span<double> b) = 0;  // with the last factor; overwrites b
  // J^T w with the J of the last build().
  virtual void transposed_times(std::span<const double> w, std::span<double> Jtw) = 0;
};

// Null where the objective does not live on the GPU.
std::unique_ptr<DeviceNormalMatrix> make_device_normal_matrix(Objective& objective);

}  // namespace lather::optim
