#pragma once
// Solutions and products with lower triangles C on the GPU, by halves: what one half of C has to do with the other is a
// product of general matrices, and what is left are blocks of 64 columns, each with one kernel. All row-major.
//
//   solve_rows       B (k × n) <- B C^{-T}     B1 <- B1 C11^{-T},  B2 <- (B2 - B1 C21^T) C22^{-T}
//   solve_columns    B (n × k) <- C^{-1} B     B1 <- C11^{-1} B1,  B2 <- C22^{-1} (B2 - C21 B1)
//   multiply_rows    B (k × n) <- B C          B1 <- B1 C11 + B2 C21,  B2 <- B2 C22

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::optim {

class LowerTriangle {
 public:
  LowerTriangle(const cuda::Blas& blas, cudaStream_t stream);
  struct Work {
    int n, k;
    const double* c;  // what lies above its diagonal is not read
    int c_stride;
    double* b;
    int b_stride;
  };
  void solve_rows(const Work& w) const;
  void solve_columns(const Work& w) const;
  void multiply_rows(const Work& w) const;

 private:
  struct Vectors {  // of a block, in B
    int step, apart;
  };
  void launch(cudaKernel_t kernel, const Work& w, const Vectors& vectors) const;

  const cuda::Blas& blas_;
  cudaStream_t stream_;
  cuda::KernelModule module_;
  cudaKernel_t solve_, multiply_;
};

}  // namespace lather::optim
