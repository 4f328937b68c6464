#pragma once
// Symmetric and triangular matrices on the GPU, row-major.

#include <span>
#include <vector>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::optim {

// A symmetric matrix and its shifted Cholesky factor in one square of memory: the matrix above the diagonal,
// the factor C (C C^T) on and below it. What stood on the diagonal is kept beside it.
class DeviceGram {
 public:
  DeviceGram(std::size_t size, cudaStream_t stream);
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return matrix_.bytes() + diagonal_.bytes() + shift_.bytes(); }

  double* upper() { return matrix_.data(); }  // to be written, with the diagonal; then:
  void written();
  std::vector<double> diagonal() const;
  void copy_lower(std::span<double> matrix) const;  // of the matrix, to the host

  // Factors the matrix + diag(shift). False if that is not positive definite in this precision.
  bool factor(std::span<const double> shift);
  const double* factor() const { return matrix_.data(); }  // the lower triangle
  std::vector<double> factor_diagonal() { return diagonal_of(matrix_.data()); }
  std::vector<double> diagonal_of(double* matrix);  // of another one of this size, on the device
  void copy_factor(double* to);                     // with zeros above the diagonal, on the device
  void write_roots(std::span<const double> shift, double* to);  // diag(sqrt(shift)), on the device
  void solve(std::span<double> b);                              // b = (C C^T)^{-1} b

 private:
  void launch(cudaKernel_t kernel, double* matrix, double* to, bool square);
  // On the stream, through page-locked memory: one vector is under way at a time.
  void enqueue_upload(std::span<const double> values);
  void download(std::span<double> values);

  std::size_t size_;
  cudaStream_t stream_;
  cuda::KernelModule module_;
  cudaKernel_t keep_, mirror_, lower_, roots_;
  cuda::Solver solver_;
  cuda::Memory<double> matrix_, diagonal_, shift_;
  cuda::Memory<int> info_;
  cuda::PinnedMemory<double> host_diagonal_, host_shift_;
  cuda::PinnedMemory<int> host_info_;
};

}  // namespace lather::optim
