#pragma once
// Kronecker factors.

#include "lather/optim/cuda/kernels/arguments.cuh"
#include "lather/optim/cuda/kernels/reductions.cuh"

namespace lather::optim {

// This thread block's sums of squares off the diagonal of its side and on it, for off_diagonal().
__device__ __forceinline__ void put_squares(const KroneckerKernelArgs& k, double off, double on) {
  off = block_sum(off);
  on = block_sum(on);
  if (threadIdx.x != 0) return;
  double* partial = k.partials + 2 * ((i64)blockIdx.y * gridDim.x + blockIdx.x);
  partial[0] = off, partial[1] = on;
}

// F = keep F + weight product; sums of squares off the diagonal and on it.
extern "C" __global__ void __launch_bounds__(256)
    accumulate_factors(const __grid_constant__ FactorKernelArgs w) {
  if (w.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const i64 size = (i64)s.d * s.d;
  double off = 0, on = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < size; i += (i64)gridDim.x * 256) {
    const double f = w.keep * s.factor[i] + w.weight * s.product[i];
    s.factor[i] = f;
    if (i / s.d == i % s.d)
      on += f * f;
    else
      off += f * f;
  }
  put_squares(w.k, off, on);
}

__device__ __forceinline__ void off_diagonal(const KroneckerKernelArgs& k, int side, double* off,
                                             double* norm) {
  const double* partial = k.partials + 2 * (i64)side * k.factor_blocks;
  const double o = ordered_sum(partial, k.factor_blocks, 2), d = ordered_sum(partial + 1, k.factor_blocks, 2);
  *off = sqrt(o);
  *norm = sqrt(o + d);
}

}  // namespace lather::optim
