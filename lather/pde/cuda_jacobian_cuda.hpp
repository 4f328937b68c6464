#pragma once
// The Jacobian of the weighted residuals on the GPU: its rows from the layers' signals, as pde/row_writer.hpp
// makes them on the host; J^T J and J^T w by products.

#include <memory>
#include <span>
#include <vector>

#include "lather/pde/cuda_pass.hpp"
#include "lather/pde/engine.hpp"

namespace lather::pde {

class CudaJacobian {
 public:
  // Of the engine's problem and points; `addresses` and `scales` are the engine's. Throws Error for problems
  // whose rows need more than signals (unknowns, factorized weights, PirateNet's alphas).
  CudaJacobian(Engine& engine, const CudaAddresses& addresses, cuda::Memory<double>& scales);

  void points_changed(int set);

  // All rows at the parameters on the device, times the square roots of the weights.
  void compute(std::span<const double> root_weights);
  // With the rows as computed last: J^T J (parameters × parameters, on the device), and J^T w.
  void normal_matrix(double* JtJ);
  void transposed_times(std::span<const double> w, std::span<double> Jtw);

 private:
  void write_rows(int term, std::size_t batch, std::size_t first_residual);

  Engine* engine_;
  CudaAddresses addresses_;
  cuda::Memory<double>* scales_;
  std::vector<std::unique_ptr<CudaPass<double>>> passes_;  // per point set; null: no terms
  std::vector<bool> stale_;
  cuda::Memory<double> rows_, w_, root_weights_, product_;
  std::unique_ptr<cuda::KernelModule> module_;
  cudaKernel_t kernel_;
  cuda::Stream stream_;
  cuda::Blas blas_;
};

}  // namespace lather::pde
