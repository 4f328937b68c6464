#pragma once
// The parts of a Cholesky factorization that are not matrix products.

#include "lather/optim/cuda/kernels/cholesky_arguments.cuh"

namespace lather::optim {

__device__ __forceinline__ int row_count(const CholeskyPanelKernelArgs& w) {
  return w.right_side ? w.size + 1 : w.size;
}

// Loads the columns from above the diagonal of the matrix; the diagonal is diagonal + shift. A thread block
// takes a 32 x 32 tile.
extern "C" __global__ void __launch_bounds__(256)
    load_panel(const __grid_constant__ CholeskyPanelKernelArgs w) {
  __shared__ double tile[32][33];
  const int row = blockIdx.x * 32, column = blockIdx.y * 32, x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int k = y; k < 32; k += 8) {  // above the diagonal rows are columns
    const int i = w.from + row + x, j = w.from + column + k;
    if (i >= row_count(w) || column + k >= w.width) continue;
    tile[k][x] = i == w.size ? w.right_side[j]
                 : i == j    ? w.diagonal[i] + w.shift[i]
                 : j < i     ? w.matrix[(long long)j * w.stride + i]
                             : w.matrix[(long long)i * w.stride + j];
  }
  __syncthreads();
  for (int k = y; k < 32; k += 8) {
    const int i = row + k, j = column + x;
    if (w.from + i < row_count(w) && j < w.width) w.panel[(long long)i * kCholeskyPanel + j] = tile[x][k];
  }
}

// Stores the result on and below the diagonal of the matrix.
extern "C" __global__ void __launch_bounds__(256)
    store_panel(const __grid_constant__ CholeskyPanelKernelArgs w) {
  const int j = blockIdx.y * 32 + threadIdx.x % 32, last = blockIdx.x * 32 + 32;
  for (int i = blockIdx.x * 32 + threadIdx.x / 32; i < last && w.from + i < row_count(w); i += 8) {
    if (j >= w.width || j > i) continue;
    const bool in_block = w.from + i < w.size && i / kCholeskyBlock == j / kCholeskyBlock;
    w.matrix[(long long)(w.from + i) * w.stride + w.from + j] =
        in_block ? w.blocks[i * kCholeskyBlock + j % kCholeskyBlock]
                 : w.panel[(long long)i * kCholeskyPanel + j];
  }
}

// A = C C^T for the block, then B <- B C^{-T} for the rows B below it. Every thread block factors A itself
// and takes some of the rows. A narrower block is padded with the identity.
//
// A thread has 4 x 4 entries of A, rows x + 16 p and columns y + 16 q. Column by column,
// a_ij <- a_ij - a_ik a_jk / a_kk for j > k; square roots are taken at the end, of all a_kk at once.
extern "C" __global__ void __launch_bounds__(256)
    factor_block(const __grid_constant__ CholeskyBlockKernelArgs w) {
  constexpr int kSide = 16, kOwn = kCholeskyBlock / kSide;
  __shared__ double column[2][kCholeskyBlock], root[kCholeskyBlock], inverse_root[kCholeskyBlock];
  alignas(16) __shared__ double transposed[kCholeskyBlock][kCholeskyBlock];  // C^T
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  double a[kOwn][kOwn];
#pragma unroll
  for (int p = 0; p < kOwn; ++p)
#pragma unroll
    for (int q = 0; q < kOwn; ++q) {
      const int i = x + kSide * p, j = y + kSide * q, row = i > j ? i : j, other = i > j ? j : i;
      a[p][q] = row < w.width ? w.block[row * kCholeskyPanel + other] : i == j ? 1.0 : 0.0;
    }
#pragma unroll
  for (int present = 0; present < kOwn; ++present)  // a compile-time constant: a stays in registers
    for (int owner = 0; owner < kSide; ++owner) {
      const int k = kSide * present + owner;
      double* a_k = column[k % 2];  // the other one may still be read
      if (y == owner)
#pragma unroll
        for (int p = present; p < kOwn; ++p) a_k[x + kSide * p] = a[p][present];
      __syncthreads();
      const double inverse = 1 / a_k[k];
      double a_ik[kOwn];
#pragma unroll
      for (int p = present; p < kOwn; ++p) a_ik[p] = a_k[x + kSide * p];
#pragma unroll
      for (int q = present; q < kOwn; ++q) {
        const double scaled = a_k[y + kSide * q] * inverse;
        if (q > present || y > owner)
#pragma unroll
          for (int p = present; p < kOwn; ++p) a[p][q] = fma(-a_ik[p], scaled, a[p][q]);
      }
    }
  if (x == y)
#pragma unroll
    for (int p = 0; p < kOwn; ++p) {
      root[x + kSide * p] = sqrt(a[p][p]);
      inverse_root[x + kSide * p] = 1 / sqrt(a[p][p]);
      if (!(a[p][p] > 0)) *w.failed = 1;
    }
  __syncthreads();
#pragma unroll
  for (int p = 0; p < kOwn; ++p)
#pragma unroll
    for (int q = 0; q < kOwn; ++q) {
      const int i = x + kSide * p, j = y + kSide * q;
      const double c = i > j ? a[p][q] * inverse_root[j] : i == j ? root[j] : 0.0;
      transposed[j][i] = c;
      if (blockIdx.x == 0) w.factor[i * kCholeskyBlock + j] = c;
    }
  __syncthreads();

  const int row = blockIdx.x * w.rows_per_block + threadIdx.x;
  if (threadIdx.x >= w.rows_per_block || row >= w.below) return;
  double2* const in_panel = reinterpret_cast<double2*>(w.block + (long long)(w.width + row) * kCholeskyPanel);
  double b[kCholeskyBlock];
#pragma unroll
  for (int j = 0; j < kCholeskyBlock; j += 2) {
    const double2 two = in_panel[j / 2];
    b[j] = two.x;
    b[j + 1] = two.y;
  }
#pragma unroll
  for (int k = 0; k < kCholeskyBlock; ++k) {
    b[k] *= inverse_root[k];
#pragma unroll
    for (int j = (k + 1) / 2 * 2; j < kCholeskyBlock; j += 2) {
      const double2 c = *reinterpret_cast<const double2*>(&transposed[k][j]);
      if (j > k) b[j] = fma(-b[k], c.x, b[j]);
      b[j + 1] = fma(-b[k], c.y, b[j + 1]);
    }
  }
#pragma unroll
  for (int j = 0; j < kCholeskyBlock; j += 2) in_panel[j / 2] = double2{b[j], b[j + 1]};
}

}  // namespace lather::optim
