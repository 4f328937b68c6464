#pragma once
// The orthonormal factor Q of A = Q R, for the square `result` of every side at once: `basis` becomes Q, with
// signs as in linalg::orthonormal_factor. In panels of columns: one thread block turns a panel into
// reflectors, many apply them to the columns behind it; at the end all reflectors are applied to the
// identity, last panel first.
//
// The product of a panel's reflectors is I - V T V^T. Column l of V has a 1 in row first + l, zeros above.
// What is below stays in A; T, upper triangular, takes the place of the panel's part of R, which is not
// needed.

#include "lather/optim/cuda/kernels/kronecker.cuh"

namespace lather::optim {

constexpr int kPanelRows = 256;  // of a panel that fits shared memory
// A thread block of 256 has one thread for every column and group of rows.
constexpr int kPanelGroups = 256 / kPanel, kReflectedGroups = 256 / kReflectedColumns;
static_assert(kPanelGroups == kPanel && 2 * kPanel == 32);  // a thread per entry of T, two groups per warp

struct Reflection {
  double coefficient, scale;  // I - coefficient v v^T; v is the column times scale, with a 1 on the diagonal
};
__device__ __forceinline__ Reflection reflection_of(double alpha, double tail) {
  if (tail <= 2.2250738585072014e-308) return {0, 0};
  const double norm = sqrt(alpha * alpha + tail), beta = alpha >= 0 ? -norm : norm;
  return {(beta - alpha) / beta, 1 / (alpha - beta)};
}

// T of I - V T V^T, column by column: T[.][k] = -c_k T (V^T v_k). `products` holds V^T V above the diagonal
// and the coefficients on it; it becomes T. Done by the first 16 threads of the block.
__device__ __forceinline__ void close_panel(double (*products)[kPanel + 1]) {
  const int x = threadIdx.x;
  for (int k = 1; k < kPanel; ++k) {
    double sum = 0;
    if (x < k) {
      for (int l = x; l < k; ++l) sum += products[x][l] * products[l][k];
      sum *= -products[k][k];
    }
    __syncthreads();
    if (x < k) products[x][k] = sum;
    __syncthreads();
  }
}

// Grid (1, sides).
extern "C" __global__ void __launch_bounds__(256)
    reflect_panel(const __grid_constant__ OrthonormalKernelArgs w) {
  if (w.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, first = w.panel * kPanel;
  if (first >= d) return;
  const int x = threadIdx.x % kPanel, y = threadIdx.x / kPanel, rows = d - first,
            columns = rows < kPanel ? rows : kPanel;
  const bool mine = x < columns;
  __shared__ double copy[kPanelRows][kPanel + 1];
  __shared__ double partial[kPanelGroups / 2][kPanel], products[kPanel][kPanel + 1];
  double* corner = s.result + (i64)first * d + first;
  // The panel's row r begins at panel + r stride.
  const bool fits = rows <= kPanelRows;
  double* panel = fits ? copy[0] : corner;
  const i64 stride = fits ? kPanel + 1 : d;
  if (fits && mine)
    for (int r = y; r < rows; r += kPanelGroups) panel[r * stride + x] = corner[(i64)r * d + x];
  products[y][x] = 0;
  __syncthreads();
  for (int k = 0; k < columns; ++k) {
    double sum = 0;  // column k with column x, below row k
    if (mine)
      for (int r = y; r < rows; r += kPanelGroups)
        if (r > k) sum += panel[r * stride + k] * panel[r * stride + x];
    sum += __shfl_xor_sync(0xffffffffu, sum, kPanel);
    if (y % 2 == 0) partial[y / 2][x] = sum;
    __syncthreads();
    double dot = 0, tail = 0;
    for (int g = 0; g < kPanelGroups / 2; ++g) dot += partial[g][x], tail += partial[g][k];
    const double alpha = panel[k * stride + k], across = mine ? panel[k * stride + x] : 0;
    const Reflection h = reflection_of(alpha, tail);
    const double with_v = across + h.scale * dot, change = h.coefficient * with_v;
    __syncthreads();
    if (y == 0 && x < k) products[x][k] = with_v;
    if (y == 0 && x == k) products[k][k] = h.coefficient;
    for (int r = y; r - y < rows; r += kPanelGroups) {
      const bool below = r > k && r < rows;
      const double v = below ? h.scale * panel[r * stride + k] : 1;
      __syncwarp();
      if (below && mine && x >= k) {
        double& entry = panel[r * stride + x];
        entry = x == k ? v : entry - change * v;
      } else if (r == k && mine && x > k)
        panel[r * stride + x] -= change;
    }
    __syncthreads();
  }
  close_panel(products);
  if (!mine) return;
  for (int r = y; r < rows; r += kPanelGroups) {
    if (r <= x)
      corner[(i64)r * d + x] = products[r][x];
    else if (fits)
      corner[(i64)r * d + x] = panel[r * stride + x];
  }
}

// Columns `column` ... of X become those of (I - V T V^T) X, or of its transpose, with the panel that begins at
// `first` of A.
__device__ void apply_panel(const double* A, int d, int first, bool transposed, double* X, int column) {
  __shared__ double partial[kReflectedGroups][kPanel][kReflectedColumns];
  __shared__ double products[kPanel][kReflectedColumns], turned[kPanel][kReflectedColumns];
  const int x = threadIdx.x % kReflectedColumns, y = threadIdx.x / kReflectedColumns, rows = d - first,
            columns = rows < kPanel ? rows : kPanel;
  const bool mine = column + x < d;
  const double* corner = A + (i64)first * d + first;
  double* below = X + (i64)first * d + column + x;
  const auto reflector = [&](int r, int l) { return r > l ? corner[(i64)r * d + l] : r == l ? 1. : 0.; };
  double sums[kPanel] = {};
  if (mine)
    for (int r = y; r < rows; r += kReflectedGroups) {
      const double value = below[(i64)r * d];
      for (int l = 0; l < kPanel; ++l)
        if (l < columns) sums[l] += reflector(r, l) * value;
    }
  for (int l = 0; l < kPanel; ++l) partial[y][l][x] = sums[l];
  __syncthreads();
  for (int l = y; l < kPanel; l += kReflectedGroups) {
    double sum = 0;
    for (int g = 0; g < kReflectedGroups; ++g) sum += partial[g][l][x];
    products[l][x] = sum;  // V^T X
  }
  __syncthreads();
  for (int l = y; l < kPanel; l += kReflectedGroups) {
    double sum = 0;
    const int begin = transposed ? 0 : l, end = transposed ? l + 1 : columns;
    if (l < columns)
      for (int m = begin; m < end; ++m)
        sum += (transposed ? corner[(i64)m * d + l] : corner[(i64)l * d + m]) * products[m][x];
    turned[l][x] = sum;
  }
  __syncthreads();
  if (mine)
    for (int r = y; r < rows; r += kReflectedGroups) {
      double change = 0;
      for (int l = 0; l < kPanel; ++l)
        if (l < columns) change += reflector(r, l) * turned[l][x];
      below[(i64)r * d] -= change;
    }
  __syncthreads();
}

// Applies a panel to the columns behind it. Grid (blocks of columns, sides).
extern "C" __global__ void __launch_bounds__(256)
    reflect_behind(const __grid_constant__ OrthonormalKernelArgs w) {
  if (w.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int first = w.panel * kPanel, column = first + kPanel + (int)blockIdx.x * kReflectedColumns;
  if (column < s.d) apply_panel(s.result, s.d, first, true, s.result, column);
}

// Q from all panels. Grid (blocks of columns, sides). Panels do not touch the identity's columns before them.
extern "C" __global__ void __launch_bounds__(256)
    multiply_panels(const __grid_constant__ OrthonormalKernelArgs w) {
  if (w.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, column = (int)blockIdx.x * kReflectedColumns;
  if (column >= d) return;
  const int x = threadIdx.x % kReflectedColumns, y = threadIdx.x / kReflectedColumns;
  if (column + x < d)
    for (int r = y; r < d; r += kReflectedGroups) s.basis[(i64)r * d + column + x] = r == column + x;
  __syncthreads();
  const int last = (column + kReflectedColumns < d ? column + kReflectedColumns : d) - 1;
  for (int panel = last / kPanel; panel >= 0; --panel)
    apply_panel(s.result, d, panel * kPanel, false, s.basis, column);
}

}  // namespace lather::optim
