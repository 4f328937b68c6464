#pragma once
// The parts of solutions and products with lower triangles that are no products of general matrices.

#include "lather/optim/cuda/kernels/substitution.cuh"

namespace lather::optim {

// f(b) for every vector.
template <class F>
__device__ __forceinline__ void over_vectors(const TriangleBlockKernelArgs& w, const F& f) {
  const int vector = blockIdx.x * w.vectors_per_block + threadIdx.x;
  if (threadIdx.x >= w.vectors_per_block || vector >= w.count) return;
  double* const at = w.b + vector * w.apart;
  double b[kCholeskyBlock];
#pragma unroll
  for (int k = 0; k < kCholeskyBlock; ++k) b[k] = k < w.width ? at[k * w.step] : 0.0;
  f(b);
#pragma unroll
  for (int k = 0; k < kCholeskyBlock; ++k)
    if (k < w.width) at[k * w.step] = b[k];
}

// A narrower block is continued by the identity.
__device__ __forceinline__ void load_transposed(const TriangleBlockKernelArgs& w,
                                                double (&transposed)[kCholeskyBlock][kCholeskyBlock]) {
  for (int e = threadIdx.x; e < kCholeskyBlock * kCholeskyBlock; e += 256) {
    const int i = e / kCholeskyBlock, j = e % kCholeskyBlock;
    transposed[j][i] = i >= j && i < w.width ? w.c[(long long)i * w.c_stride + j] : i == j ? 1.0 : 0.0;
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(256)
    solve_block(const __grid_constant__ TriangleBlockKernelArgs w) {
  alignas(16) __shared__ double transposed[kCholeskyBlock][kCholeskyBlock];
  __shared__ double inverse[kCholeskyBlock];
  load_transposed(w, transposed);
  if (threadIdx.x < kCholeskyBlock) inverse[threadIdx.x] = 1 / transposed[threadIdx.x][threadIdx.x];
  __syncthreads();
  over_vectors(w, [&](double(&b)[kCholeskyBlock]) { substitute(b, transposed, inverse); });
}

// b <- C^T b
extern "C" __global__ void __launch_bounds__(256)
    multiply_block(const __grid_constant__ TriangleBlockKernelArgs w) {
  alignas(16) __shared__ double transposed[kCholeskyBlock][kCholeskyBlock];
  load_transposed(w, transposed);
  over_vectors(w, [&](double(&b)[kCholeskyBlock]) {
#pragma unroll
    for (int j = 0; j < kCholeskyBlock; ++j) {
      b[j] *= transposed[j][j];
#pragma unroll
      for (int k = j + 1; k < kCholeskyBlock; ++k) b[j] = fma(b[k], transposed[j][k], b[j]);
    }
  });
}

}  // namespace lather::optim
