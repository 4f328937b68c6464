#pragma once
// Sums of shards, added up pair by pair (parallel/shards.hpp says which). Plain additions: the same bits as on
// the host.

#include "lather/pde/cuda/kernels/shard_arguments.cuh"

namespace lather::pde {

extern "C" __global__ void __launch_bounds__(256) add_shards(const __grid_constant__ ShardPairsKernelArgs w) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < w.count; i += gridDim.x * 256ll)
    for (int p = 0; p < w.pairs_count; ++p)
      w.slots[w.pairs[2 * p] * w.stride + w.first + i] +=
          w.slots[w.pairs[2 * p + 1] * w.stride + w.first + i];
}

extern "C" __global__ void __launch_bounds__(256)
    add_triangle(const __grid_constant__ AddTriangleKernelArgs w) {
  for (long long row = blockIdx.x; row < w.n; row += gridDim.x)
    for (long long column = row + threadIdx.x; column < w.n; column += 256)
      w.to[row * w.stride + column] += w.from[row * w.stride + column];
}

extern "C" __global__ void __launch_bounds__(256)
    add_numbers(const __grid_constant__ AddNumbersKernelArgs w) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < w.count; i += gridDim.x * 256ll)
    w.to[i] += w.from[i];
}

// The host writes the flag while kernels run.
extern "C" __global__ void __launch_bounds__(256) mark_lost_sum(const __grid_constant__ LostSumKernelArgs w) {
  if (threadIdx.x == 0 && *(const volatile int*)w.lost) *w.sum = 0.0 / 0.0;
}

}  // namespace lather::pde
