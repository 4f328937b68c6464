#pragma once
// Matrices of least squares on the GPU, from the rows of J there.

#include <functional>

#include "lather/optim/least_squares/solvers/normal_matrix.hpp"
#include "lather/optim/least_squares/solvers/orthogonal_factor.hpp"
#include "lather/optim/least_squares/solvers/sketch.hpp"
#include "lather/optim/least_squares/solvers/vector_blocks.hpp"

namespace lather::optim {

// The Jacobian of residuals on the GPU. Upper triangles, row-major, of matrices on the device.
class DeviceJacobian {
 public:
  virtual ~DeviceJacobian() = default;
  // J^T J at x and J^T r; returns r^T r.
  virtual double normal_matrix(std::span<const double> x, double* JtJ, std::span<double> Jtr) = 0;
  // J J^T at x and r.
  virtual void gram_matrix(std::span<const double> x, double* JJt, std::span<double> r) = 0;
  // f(rows of J, as many residuals, their number), piece after piece, all on the device.
  using RowVisitor = std::function<void(const double* rows, const double* r, std::size_t count)>;
  virtual void visit_rows(std::span<const double> x, const RowVisitor& visit) = 0;
};

std::unique_ptr<NormalMatrix> make_device_normal_matrix(DeviceJacobian& jacobian, std::size_t dimension);
double device_normal_matrix_bytes(std::size_t dimension);
std::unique_ptr<OrthogonalFactor> make_device_orthogonal_factor(DeviceJacobian& jacobian,
                                                                std::size_t parameters);
double device_orthogonal_factor_bytes(std::size_t parameters);
std::unique_ptr<OrthogonalFactor> make_device_sketched_factor(DeviceJacobian& jacobian, const Sketch& sketch);
double device_sketched_factor_bytes(std::size_t columns, std::size_t rows);
// The team draws random numbers.
std::unique_ptr<VectorBlocks> make_device_vector_blocks(DeviceJacobian& jacobian, std::size_t count,
                                                        std::size_t parameters, ThreadTeam* team);

}  // namespace lather::optim
