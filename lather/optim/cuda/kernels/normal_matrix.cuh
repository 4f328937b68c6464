#pragma once
// The two triangles of a normal matrix: what Cholesky overwrites in one is read again from the other.

#include "lather/optim/cuda/kernels/arguments.cuh"

namespace lather::optim {

extern "C" __global__ void __launch_bounds__(256)
    keep_diagonal(const __grid_constant__ TriangleKernelArgs w) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < w.size; i += gridDim.x * 256)
    w.to[i] = w.matrix[(long long)i * (w.size + 1)];
}

// What lies above the diagonal goes below it; on the diagonal: what was kept, and the shift. A block takes a
// tile of 32 x 32.
extern "C" __global__ void __launch_bounds__(256) mirror(const __grid_constant__ TriangleKernelArgs w) {
  __shared__ double tile[32][33];
  const int row = blockIdx.y * 32, column = blockIdx.x * 32, x = threadIdx.x % 32, y = threadIdx.x / 32;
  if (column < row) return;
  for (int k = y; k < 32; k += 8)
    if (row + k < w.size && column + x < w.size)
      tile[k][x] = w.matrix[(long long)(row + k) * w.size + column + x];
  __syncthreads();
  for (int k = y; k < 32; k += 8) {
    const int i = column + k, j = row + x;
    if (i >= w.size || j > i) continue;
    w.matrix[(long long)i * w.size + j] = i == j ? w.diagonal[i] + w.shift[i] : tile[x][k];
  }
}

// The lower triangle, with zeros above it.
extern "C" __global__ void __launch_bounds__(256) lower_part(const __grid_constant__ TriangleKernelArgs w) {
  const int last = blockIdx.y * 32 + 32, j = blockIdx.x * 32 + threadIdx.x % 32;
  for (int i = blockIdx.y * 32 + threadIdx.x / 32; i < last && i < w.size; i += 8)
    if (j < w.size) w.to[(long long)i * w.size + j] = j <= i ? w.matrix[(long long)i * w.size + j] : 0.0;
}

// The diagonal matrix of the roots of the shift.
extern "C" __global__ void __launch_bounds__(256) shift_roots(const __grid_constant__ TriangleKernelArgs w) {
  const int last = blockIdx.y * 32 + 32, j = blockIdx.x * 32 + threadIdx.x % 32;
  for (int i = blockIdx.y * 32 + threadIdx.x / 32; i < last && i < w.size; i += 8)
    if (j < w.size) w.to[(long long)i * w.size + j] = i == j ? sqrt(w.shift[i]) : 0.0;
}

}  // namespace lather::optim
