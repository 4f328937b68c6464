#pragma once
// Kernels that do not depend on the problem: weights into the form the
// products need, and sums into the gradient. Each works through a list of
// jobs. Real is the engine's precision, defined by the including source.

#include "lather/pde/cuda/kernels/job_arguments.cuh"

namespace lather::pde {

extern "C" __global__ void __launch_bounds__(256) prepare_weights(const __grid_constant__ JobList list) {
  const WeightJob j = static_cast<const WeightJob*>(list.jobs)[blockIdx.y];
  for (int i = blockIdx.x * 256 + threadIdx.x; i < j.rows * j.columns; i += gridDim.x * 256) {
    const int r = i / j.columns, c = i % j.columns;
    const double w = j.scale ? j.from[i] * j.scale[c] : j.from[i];
    static_cast<Real*>(j.to)[(size_t)r * j.leading + c] = Real(w);
    if (j.transposed) static_cast<Real*>(j.transposed)[(size_t)c * j.transposed_leading + r] = Real(w);
  }
}

// 32 columns × 32 rows of threads; every thread adds its rows
// in order, then the threads of a column are added in order.
extern "C" __global__ void __launch_bounds__(1024) close_sums(const __grid_constant__ JobList list) {
  const CloseJob j = static_cast<const CloseJob*>(list.jobs)[blockIdx.y];
  const int t = threadIdx.y * 32 + threadIdx.x;
  if (j.matrix) {
    for (int i = blockIdx.x * 1024 + t; i < j.rows * j.columns; i += gridDim.x * 1024)
      j.to[i] = double(static_cast<const Real*>(j.from)[(size_t)(i / j.columns) * j.leading + i % j.columns]);
    return;
  }
  __shared__ double shared[32][33];
  const double* from = static_cast<const double*>(j.from);
  for (int first = blockIdx.x * 32; first < j.columns; first += gridDim.x * 32) {
    const int column = first + threadIdx.x;
    double sum = 0;
    if (column < j.columns) {
#pragma unroll 8
      for (int r = threadIdx.y; r < j.rows; r += 32) sum += from[(size_t)r * j.leading + column];
    }
    __syncthreads();
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < j.columns) {
      double total = 0;
      for (int y = 0; y < 32; ++y) total += shared[y][threadIdx.x];
      j.to[column] = total;
    }
  }
}

// A thread block per group: every thread adds its points in order, then the threads are added in order.
extern "C" __global__ void __launch_bounds__(256) add_groups(const __grid_constant__ GroupSumKernelArgs w) {
  __shared__ double shared[256];
  const Real* values = static_cast<const Real*>(w.values);
  for (int q = w.first + blockIdx.x; q < w.first + w.groups; q += gridDim.x) {
    double sum = 0;
    for (int j = threadIdx.x; j < w.group; j += 256) sum += double(values[(size_t)q * w.group + j]);
    __syncthreads();
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0) continue;
    double total = 0;
    for (int t = 0; t < 256 && t < w.group; ++t) total += shared[t];
    w.sums[q] = total;
  }
}

extern "C" __global__ void __launch_bounds__(256) factor_gradient(const __grid_constant__ JobList list) {
  const FactorJob j = static_cast<const FactorJob*>(list.jobs)[blockIdx.y];
  for (int c = blockIdx.x * 256 + threadIdx.x; c < j.columns; c += gridDim.x * 256) {
    double sum = 0;
    for (int r = 0; r < j.rows; ++r) {
      const size_t i = (size_t)r * j.columns + c;
      sum += j.weight_bar[i] * j.weight[i];
      j.weight_bar[i] *= j.scale[c];
    }
    j.scale_bar[c] = sum;
  }
}

}  // namespace lather::pde
