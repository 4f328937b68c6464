#pragma once
// Parts of square matrices.

#include "lather/optim/cuda/kernels/arguments.cuh"

namespace lather::optim {

extern "C" __global__ void __launch_bounds__(256)
    keep_diagonal(const __grid_constant__ TriangleKernelArgs w) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < w.size; i += gridDim.x * 256)
    w.to[i] = w.matrix[(long long)i * (w.stride + 1)];
}

// The lower triangle, with zeros above it.
extern "C" __global__ void __launch_bounds__(256) lower_part(const __grid_constant__ TriangleKernelArgs w) {
  const int last = blockIdx.y * 32 + 32, j = blockIdx.x * 32 + threadIdx.x % 32;
  for (int i = blockIdx.y * 32 + threadIdx.x / 32; i < last && i < w.size; i += 8)
    if (j < w.size) w.to[(long long)i * w.stride + j] = j <= i ? w.matrix[(long long)i * w.stride + j] : 0.0;
}

// The diagonal matrix of the roots of the shift.
extern "C" __global__ void __launch_bounds__(256) shift_roots(const __grid_constant__ TriangleKernelArgs w) {
  const int last = blockIdx.y * 32 + 32, j = blockIdx.x * 32 + threadIdx.x % 32;
  for (int i = blockIdx.y * 32 + threadIdx.x / 32; i < last && i < w.size; i += 8)
    if (j < w.size) w.to[(long long)i * w.stride + j] = i == j ? sqrt(w.shift[i]) : 0.0;
}

}  // namespace lather::optim
