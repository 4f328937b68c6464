#pragma once
// Cholesky factors on the GPU, in panels of 256 columns: what earlier panels subtract from one is a general
// matrix product, and the rest are blocks of 64 columns, each with one kernel. Two to three times as fast as
// cuSOLVER's (bench/cholesky_cuda.cpp).

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::optim {

class DeviceCholesky {
 public:
  DeviceCholesky(std::size_t size, const cuda::Blas& blas, cudaStream_t stream);
  std::size_t bytes() const { return panel_.bytes() + blocks_.bytes(); }
  static double bytes_of(double size);

  // Factors the matrix (row-major, rows cuda::row_stride(size) apart) that is `matrix` above the diagonal and
  // diagonal + shift on it: its factor C (C C^T) goes on and below the diagonal of `matrix`. *failed is 0 if
  // it was positive definite. With a right side b, `matrix` has one more row, which becomes C^{-1} b on the
  // way: half of a solution for free.
  void enqueue(double* matrix, const double* diagonal, const double* shift, int* failed,
               const double* right_side = nullptr);

 private:
  void factor_panel(int rows, int width, int* failed);

  int size_;
  const cuda::Blas& blas_;
  cudaStream_t stream_;
  cuda::KernelModule module_;
  cudaKernel_t load_, store_, factor_;
  cuda::Memory<double> panel_, blocks_;
};

}  // namespace lather::optim
