#pragma once
// What the CUDA compiler has built in, for kernels compiled by the C++ compiler:
// compiler.cpp puts this file before them.
#include <cmath>
#include <cstddef>
using std::fma, std::exp, std::log, std::log1p, std::sin, std::cos, std::tan, std::sinh, std::cosh, std::tanh,
    std::asinh, std::atan, std::atan2, std::erf, std::fabs, std::fmax, std::fmin, std::pow, std::sqrt;
#define __device__
#define __constant__
#define __forceinline__ inline
#define __global__
#define __shared__ static
#define __launch_bounds__(n)
struct Index {
  unsigned x, y, z;
};
extern "C" {
Index threadIdx, blockIdx, blockDim, gridDim;
void (*emulator_block_barrier)();
void (*emulator_warp_barrier)();
double emulator_exchange[1024];
}
struct double2 {
  double x, y;
};
struct float4 {
  float x, y, z, w;
};
inline double __dmul_rn(double a, double b) { return a * b; }
template <class T>
inline T __ldg(const T* p) {
  return *p;
}
inline void __syncthreads() { emulator_block_barrier(); }
inline void __syncwarp() { emulator_warp_barrier(); }
template <class T>
inline T __shfl_xor_sync(unsigned, T value, int mask) {
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  emulator_exchange[t] = value;
  emulator_warp_barrier();
  const T other = T(emulator_exchange[t ^ mask]);
  emulator_warp_barrier();
  return other;
}
