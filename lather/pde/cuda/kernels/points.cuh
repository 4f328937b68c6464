#pragma once
// Points drawn on the device: Random (core/rng.hpp), stream_of and unit_points (pde/sampling/sampling.cpp), the same bits.
// Number is the precision of the coordinates, defined by what includes this.

#include "lather/pde/cuda/kernels/point_arguments.cuh"

namespace lather::pde {

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 with_label(u64 z, u64 label) {
  z += label + 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

__device__ __forceinline__ u64 random_bits(u64 seed, u64 stream, u64 index) {
  u32 c0 = (u32)index, c1 = (u32)(index >> 32), c2 = (u32)stream, c3 = (u32)(stream >> 32), k0 = (u32)seed,
      k1 = (u32)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    c0 = (u32)(p1 >> 32) ^ c1 ^ k0, c1 = (u32)p1, c2 = (u32)(p0 >> 32) ^ c3 ^ k1, c3 = (u32)p0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return ((u64)c0 << 32) | c1;
}

__device__ __forceinline__ u32 sobol_bits(const u32* directions, u32 index) {
  u32 bits = 0, gray = index ^ (index >> 1);
  for (int k = 0; gray != 0; ++k, gray >>= 1)
    if (gray & 1u) bits ^= directions[k];
  return bits;
}

__device__ __forceinline__ double open_unit(u64 bits) { return ((double)bits + 0.5) * 2.220446049250313e-16; }

extern "C" __global__ void __launch_bounds__(256) draw_points(const __grid_constant__ DrawKernelArgs w) {
  const long long step = *w.step + *w.index;
  const bool due = step % w.every == 0;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *w.changed = due;
  if (!due) return;
  const DrawnPart& p = w.parts[blockIdx.y];
  const u64 draw = (u64)(step / w.every);
  const u64 stream = with_label(with_label(with_label(with_label(0, 1), p.set), draw), p.index);
  int free = 0;
  for (int k = 0; k < p.dimensions; ++k) free += p.width[k] != 0;
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.count;
       i += (long long)gridDim.x * 256) {
    for (int k = 0, next = 0; k < p.dimensions; ++k) {
      double value = p.low[k];
      if (p.width[k] != 0) {
        double u;
        if (p.design == DrawnDesign::uniform) {
          u = open_unit(random_bits(w.seed, stream, (u64)i * free + next) >> 12);
        } else if (p.design == DrawnDesign::shifted_sobol) {
          const u64 shift = random_bits(w.seed, stream, (u64)next) >> 12;
          u = open_unit(((u64)sobol_bits(w.directions + 32 * next, (u32)i) << 20) ^ shift);
        } else {
          u = sobol_bits(w.directions + 32 * next, (u32)(draw * p.count + i)) * 2.3283064365386963e-10;
        }
        value = fma(p.width[k], u, p.low[k]);
        ++next;
      }
      static_cast<Number*>(p.coordinates)[k * p.points + p.first + i] = (Number)value;
    }
  }
}

}  // namespace lather::pde
