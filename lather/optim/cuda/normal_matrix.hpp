#pragma once
// J^T J or J J^T and its Cholesky factor on the GPU, in one square of memory: the matrix above the diagonal, the factor on and
// below it.

#include "lather/optim/least_squares/normal_matrix.hpp"

namespace lather::optim {

// The Jacobian of residuals on the GPU. Upper triangles, row-major, of matrices on the device.
class DeviceJacobian {
 public:
  virtual ~DeviceJacobian() = default;
  // J^T J at x and J^T r; returns r^T r.
  virtual double normal_matrix(std::span<const double> x, double* JtJ, std::span<double> Jtr) = 0;
  // J J^T at x and r.
  virtual void gram_matrix(std::span<const double> x, double* JJt, std::span<double> r) = 0;
};

std::unique_ptr<NormalMatrix> make_device_normal_matrix(DeviceJacobian& jacobian, std::size_t dimension);
double device_normal_matrix_bytes(std::size_t dimension);

}  // namespace lather::optim
