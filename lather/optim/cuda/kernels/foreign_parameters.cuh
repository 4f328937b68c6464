#pragma once
// Copies blocks in someone else's memory to and from flat arrays of doubles. Row y of the grid takes block y.

#include "lather/optim/cuda/kernels/foreign_arguments.cuh"

namespace lather::optim {

extern "C" __global__ void __launch_bounds__(256)
    gather_foreign(const __grid_constant__ ForeignKernelArgs w) {
  const ForeignBlockArgs b = w.blocks[blockIdx.y];
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < b.size; i += (long long)gridDim.x * 256) {
    w.x[b.offset + i] =
        b.is_float32 ? (double)((const float*)b.parameter)[i] : ((const double*)b.parameter)[i];
    w.gradient[b.offset + i] =
        b.is_float32 ? (double)((const float*)b.gradient)[i] : ((const double*)b.gradient)[i];
  }
}

extern "C" __global__ void __launch_bounds__(256)
    scatter_foreign(const __grid_constant__ ForeignKernelArgs w) {
  const ForeignBlockArgs b = w.blocks[blockIdx.y];
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < b.size; i += (long long)gridDim.x * 256) {
    if (b.is_float32)
      ((float*)b.parameter)[i] = (float)w.x[b.offset + i];
    else
      ((double*)b.parameter)[i] = w.x[b.offset + i];
  }
}

}  // namespace lather::optim
