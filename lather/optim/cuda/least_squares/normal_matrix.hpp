#pragma once
// Matrices of least squares on the GPU, from the rows of J there.

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>

#include "lather/optim/least_squares/solvers/normal_matrix.hpp"
#include "lather/optim/least_squares/solvers/orthogonal_factor.hpp"
#include "lather/optim/least_squares/solvers/sketch.hpp"
#include "lather/optim/least_squares/solvers/vector_blocks.hpp"

namespace lather::optim {

class DevicePathWork;

// The Jacobian of residuals on the GPU. Matrices are upper triangles, row-major, on the device; their rows
// and those of J begin cuda::row_stride(columns) apart.
class DeviceJacobian {
 public:
  virtual ~DeviceJacobian() = default;
  // J^T J at x and J^T r; returns r^T r. finish(stream) may enqueue work on J^T J to be done before the host
  // goes on.
  using Finish = std::function<void(cudaStream_t)>;
  virtual double normal_matrix(std::span<const double> x, double* JtJ, std::span<double> Jtr,
                               const Finish& finish) = 0;
  // J^T w at x, to be read after the stream's work.
  struct Enqueued {
    const double* vector;
    cudaStream_t stream;
  };
  virtual Enqueued enqueue_transposed_times(std::span<const double> x, std::span<const double> w) = 0;
  virtual DevicePathWork* path_work() { return nullptr; }  // null: not offered
  // J J^T at x and r.
  virtual void gram_matrix(std::span<const double> x, double* JJt, std::span<double> r) = 0;
  // f(rows of J, as many residuals, their number), piece after piece, all on the device.
  using RowVisitor = std::function<void(const double* rows, const double* r, std::size_t count)>;
  virtual void visit_rows(std::span<const double> x, const RowVisitor& visit) = 0;
};

// The parts of a step along a path; only the last one waits.
class DevicePathWork {
 public:
  virtual ~DevicePathWork() = default;
  // J^T J at x and J^T r. Empty if J is not in one piece, or others have a part in it.
  virtual std::optional<DeviceJacobian::Enqueued> enqueue_normal_matrix(
      std::span<const double> x, double* JtJ, const DeviceJacobian::Finish& finish) = 0;
  // Room for x + h d, x - h d and x; then J^T r'' with the present J, behind `after`, which writes them.
  virtual double* bend_points() = 0;
  virtual DeviceJacobian::Enqueued enqueue_bend(double h, cudaStream_t after) = 0;
  // Room for x at two lengths; then the values there, behind `after`, and J^T r. Waits; returns r^T r.
  virtual double* value_points() = 0;
  virtual double finish(cudaStream_t after, std::span<double> Jtr, std::span<double> values) = 0;
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
