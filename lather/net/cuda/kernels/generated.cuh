#pragma once
// The building blocks of generated kernels. Real, the precision, and LATHER_FUNCTION are defined by the
// including source (net/cuda/kernel_source.cpp).

struct Piece {
  int row, points, stash_row, block, blocks, point, total, unused;
};
template <int N>
struct alignas(N * sizeof(Real)) Pack {
  Real v[N];
};
template <int N>
LATHER_FUNCTION Pack<N> load(const Real* p) {
  return *reinterpret_cast<const Pack<N>*>(p);
}
// For memory that this kernel does not write: may be read ahead of its stores.
template <int N>
LATHER_FUNCTION Pack<N> fetch(const Real* p) {
  Pack<N> r;
  if constexpr (N * sizeof(Real) == 16 && sizeof(Real) == 8) {
    const double2 t = __ldg(reinterpret_cast<const double2*>(p));
    r.v[0] = Real(t.x);
    r.v[1] = Real(t.y);
  } else if constexpr (N == 4) {
    const float4 t = __ldg(reinterpret_cast<const float4*>(p));
    r.v[0] = t.x;
    r.v[1] = t.y;
    r.v[2] = t.z;
    r.v[3] = t.w;
  } else {
    for (int l = 0; l < N; ++l) r.v[l] = __ldg(p + l);
  }
  return r;
}
template <int N>
LATHER_FUNCTION void store(Real* p, const Pack<N>& r) {
  *reinterpret_cast<Pack<N>*>(p) = r;
}
// Weights in double, with or without column factors.
template <int N>
LATHER_FUNCTION Pack<N> weights(const void* w, int at, int step) {
  Pack<N> r;
  for (int l = 0; l < N; ++l) r.v[l] = Real(__ldg(static_cast<const double*>(w) + at + l * step));
  return r;
}
template <int N>
LATHER_FUNCTION Pack<N> scaled_weights(const void* w, int at, int step, const void* g, int g_at, int g_step) {
  Pack<N> r;
  for (int l = 0; l < N; ++l)
    r.v[l] = Real(__ldg(static_cast<const double*>(w) + at + l * step) *
                  __ldg(static_cast<const double*>(g) + g_at + l * g_step));
  return r;
}
// Adds over threads of equal x, in order of y; the result is valid where y = 0.
LATHER_FUNCTION double sum_over_y(double value, double* shared) {
  if (blockDim.y == 1) return value;
  __syncthreads();
  shared[threadIdx.y * blockDim.x + threadIdx.x] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.y == 0)
    for (int y = 0; y < blockDim.y; ++y) sum += shared[y * blockDim.x + threadIdx.x];
  return sum;
}
// Adds over all threads in a fixed tree; the result is valid
// in thread (0, 0). blockDim.x * blockDim.y is a power of two.
LATHER_FUNCTION double sum_over_block(double value, double* shared) {
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();
  shared[t] = value;
  for (int half = blockDim.x * blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) shared[t] += shared[t + half];
  }
  __syncthreads();
  return shared[0];
}
