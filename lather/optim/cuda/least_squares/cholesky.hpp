#pragma once
// Cholesky factors on the GPU, panel by panel of 256 columns: what earlier panels take from one is a product of general
// matrices, and what is left are blocks of 64 columns, each with one kernel. Twice to three times as fast as cuSOLVER's
// (bench/cholesky_cuda.cpp).

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::optim {

class DeviceCholesky {
 public:
  DeviceCholesky(std::size_t size, const cuda::Blas& blas, cudaStream_t stream);
  std::size_t bytes() const { return panel_.bytes() + blocks_.bytes(); }
  static double bytes_of(double size);

  // A matrix (row-major, rows cuda::row_stride(size) apart) whose numbers above the diagonal are those in `matrix` and on
  // it those of diagonal + shift: its factor C (C C^T) goes on and below the diagonal of `matrix`. *failed is 0 where it
  // was positive definite. With a right side b, `matrix` has one row more, and C^{-1} b becomes of it on the way: half of
  // a solution for nothing.
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
