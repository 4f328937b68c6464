#pragma once
// Blocks of vectors and sketches of Jacobians.

#include "lather/optim/cuda/kernels/vector_arguments.cuh"

namespace lather::optim {

extern "C" __global__ void __launch_bounds__(256)
    scale_columns(const __grid_constant__ ScaleColumnsKernelArgs w) {
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < w.size; i += (long long)gridDim.x * 256) {
    const double factor = w.divide ? 1 / w.scale[i] : w.scale[i];
    for (int k = 0; k < w.count; ++k) w.rows[k * w.size + i] *= factor;
  }
}

// One thread block per row.
extern "C" __global__ void __launch_bounds__(256) fold_columns(const __grid_constant__ FoldKernelArgs w) {
  for (int k = blockIdx.x; k < w.rows; k += gridDim.x) {
    const double* row = w.from + k * w.from_stride;
    for (int j = threadIdx.x; j < w.columns; j += 256) {
      double sum = 0;
      for (unsigned int q = w.starts[j]; q < w.starts[j + 1]; ++q) sum += w.entries[q] * row[w.members[q]];
      w.to[k * w.to_stride + j] = sum;
    }
  }
}

// One thread per column and hash; each hash has its own rows, so sums have one order.
extern "C" __global__ void __launch_bounds__(256) hash_rows(const __grid_constant__ HashRowsKernelArgs w) {
  const int h = blockIdx.y;
  for (int j = blockIdx.x * 256 + threadIdx.x; j < w.columns; j += gridDim.x * 256)
    for (int k = 0; k < w.rows; ++k)
      w.to[(long long)w.bins[k * w.hashes + h] * w.stride + j] +=
          w.entries[k * w.hashes + h] * w.from[(long long)k * w.stride + j];
}

}  // namespace lather::optim
