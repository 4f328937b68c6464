#pragma once
// A thread has a vector of a block's width in its registers; the block C, transposed, is in shared memory.

#include "lather/optim/cuda/kernels/cholesky_arguments.cuh"

namespace lather::optim {

// b <- C^{-1} b
__device__ __forceinline__ void substitute(double (&b)[kCholeskyBlock],
                                           const double (&transposed)[kCholeskyBlock][kCholeskyBlock],
                                           const double (&inverse)[kCholeskyBlock]) {
#pragma unroll
  for (int k = 0; k < kCholeskyBlock; ++k) {
    b[k] *= inverse[k];
#pragma unroll
    for (int j = (k + 1) / 2 * 2; j < kCholeskyBlock; j += 2) {
      const double2 c = *reinterpret_cast<const double2*>(&transposed[k][j]);
      if (j > k) b[j] = fma(-b[k], c.x, b[j]);
      b[j + 1] = fma(-b[k], c.y, b[j + 1]);
    }
  }
}

}  // namespace lather::optim
