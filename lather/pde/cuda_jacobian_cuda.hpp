#pragma once
// Normal equations of the weighted residuals on the GPU: J in chunks of rows from the layers' signals (as
// pde/jacobian.cpp does on the host), J^T J and J^T r by products.

#include <memory>
#include <span>
#include <vector>

#include "lather/pde/cuda_pass.hpp"
#include "lather/pde/engine.hpp"

namespace lather::pde {

class CudaJacobian {
 public:
  // Of the engine's problem and points; `addresses` and `scales` are the engine's. Throws Error for networks
  // whose Jacobian needs more than signals (unknowns, factorized weights, PirateNet's alphas).
  CudaJacobian(Engine& engine, const CudaAddresses& addresses, cuda::Memory<double>& scales);

  void points_changed(int set);

  // At the parameters on the device. r: weighted residuals; root_weights: what they were multiplied by.
  // JtJ (parameters × parameters) is overwritten.
  void normal_equations(std::span<const double> r, std::span<const double> root_weights, double* JtJ,
                        std::span<double> Jtr);

 private:
  void add_rows(int term, std::size_t batch, std::size_t first_residual, double* JtJ);

  Engine* engine_;
  CudaAddresses addresses_;
  cuda::Memory<double>* scales_;
  std::vector<std::unique_ptr<CudaPass<double>>> passes_;  // per point set; null: no terms
  std::vector<bool> stale_;
  std::size_t chunk_;  // points of a batch
  cuda::Memory<double> rows_, residuals_, root_weights_, product_;
  std::unique_ptr<cuda::KernelModule> module_;
  cudaKernel_t kernel_;
  cuda::Stream stream_;
  cuda::Blas blas_;
};

}  // namespace lather::pde
