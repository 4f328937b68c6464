#pragma once
// Sums and maxima over a thread block of 256 threads. All add in a fixed order: the same bits every time.

namespace lather::optim {

typedef long long i64;

__device__ __forceinline__ bool is_finite(double x) { return fabs(x) <= 1.7976931348623157e308; }

template <class Combine>
__device__ __forceinline__ double block_reduce(double value, Combine combine) {
  __shared__ double shared[256];
  __syncthreads();
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}
__device__ __forceinline__ double block_sum(double value) {
  return block_reduce(value, [](double a, double b) { return a + b; });
}
__device__ __forceinline__ double block_max(double value) {
  return block_reduce(value, [](double a, double b) { return b > a ? b : a; });
}

__device__ __forceinline__ double ordered_sum(const double* values, int count, int stride) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += values[(i64)i * stride];
  return sum;
}

}  // namespace lather::optim
