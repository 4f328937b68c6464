#pragma once
// A step of lm along a path, between its matrices and evaluations.

#include "lather/optim/cuda/kernels/path_arguments.cuh"
#include "lather/optim/cuda/kernels/reductions.cuh"
#include "lather/optim/formulas/geodesic.hpp"

namespace lather::optim {

// One thread block.
extern "C" __global__ void __launch_bounds__(256) damping_shift(const __grid_constant__ DampingKernelArgs w) {
  double sum = 0;
  for (int i = threadIdx.x; i < w.size; i += 256) sum += w.diagonal[i];
  const double mean = block_sum(sum) / w.size;
  for (int i = threadIdx.x; i < w.size; i += 256)
    w.shift[i] = w.lambda * damping_element(w.marquardt != 0, w.diagonal[i], mean);
}

// One row of thread blocks per point.
extern "C" __global__ void __launch_bounds__(256) path_points(const __grid_constant__ PathKernelArgs w) {
  double* to = w.to + blockIdx.y * w.size;
  for (i64 i = blockIdx.x * 256 + threadIdx.x; i < w.size; i += (i64)gridDim.x * 256)
    to[i] = path_point(w.x[i], w.s[blockIdx.y], w.d[i], w.a ? w.a[i] : 0.0);
}

extern "C" __global__ void __launch_bounds__(256) negate_vector(const __grid_constant__ NegateKernelArgs w) {
  for (i64 i = blockIdx.x * 256 + threadIdx.x; i < w.size; i += (i64)gridDim.x * 256) w.to[i] = -w.from[i];
}

// One thread block. An acceleration that bends the path too much, or is not finite, becomes zero.
extern "C" __global__ void __launch_bounds__(256) limit_bend(const __grid_constant__ BendKernelArgs w) {
  double a = 0, d = 0;
  for (i64 i = threadIdx.x; i < w.size; i += 256) {
    a += w.a[i] * w.a[i];
    d += w.d[i] * w.d[i];
  }
  a = sqrt(block_sum(a));
  d = sqrt(block_sum(d));
  if (path_bends_little(a, d)) return;
  for (i64 i = threadIdx.x; i < w.size; i += 256) w.a[i] = 0;
}

}  // namespace lather::optim
