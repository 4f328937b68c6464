#pragma once
// New bases: eigenvectors from the solver, made unique as in linalg::make_canonical.

#include "lather/linalg/formulas/canonical.hpp"
#include "lather/optim/cuda/kernels/kronecker.cuh"

namespace lather::optim {
// Rows first ... first + step (size - 1) of X (d columns) become the canonical basis of the space they span:
// see linalg::make_canonical. `diagonal` and `reflector` hold d numbers each.
__device__ void canonical_cluster(double* X, int d, int first, int step, int size, double* diagonal,
                                  double* reflector) {
  const int t = threadIdx.x;
  for (int i = t; i < d; i += 256) {
    double sum = 0;
    for (int k = 0; k < size; ++k)
      sum += X[(i64)(first + step * k) * d + i] * X[(i64)(first + step * k) * d + i];
    diagonal[i] = sum;
  }
  for (int k = 0; k < size; ++k) {
    double* row = X + (i64)(first + step * k) * d;
    __syncthreads();
    double largest = 0;
    for (int i = t; i < d; i += 256) largest = diagonal[i] > largest ? diagonal[i] : largest;
    largest = block_max(largest);
    double earliest = -d;  // the first index close to the largest, as a maximum
    for (int i = t; i < d; i += 256)
      if (linalg::as_large_as(largest, diagonal[i]) && -i > earliest) earliest = -i;
    const int pivot = (int)(-block_max(earliest));
    const int rest = size - k;
    if (rest == 1) {
      const double sign = row[pivot] < 0 ? -1 : 1;
      __syncthreads();
      for (int i = t; i < d; i += 256) row[i] *= sign;
      __syncthreads();
      continue;
    }
    double square = 0;
    for (int j = t; j < rest; j += 256) {
      reflector[j] = X[(i64)(first + step * (k + j)) * d + pivot];
      square += reflector[j] * reflector[j];
    }
    const double norm = sqrt(block_sum(square));
    if (norm > 0) {
      if (t == 0) reflector[0] += reflector[0] >= 0 ? norm : -norm;
      __syncthreads();
      square = 0;
      for (int j = t; j < rest; j += 256) square += reflector[j] * reflector[j];
      square = block_sum(square);
      for (int i = t; i < d; i += 256) {
        double sum = 0;
        for (int j = 0; j < rest; ++j) sum += X[(i64)(first + step * (k + j)) * d + i] * reflector[j];
        sum *= 2 / square;
        for (int j = 0; j < rest; ++j) X[(i64)(first + step * (k + j)) * d + i] -= sum * reflector[j];
      }
      __syncthreads();
      const double sign = row[pivot] < 0 ? -1 : 1;
      __syncthreads();
      for (int i = t; i < d; i += 256) row[i] *= sign;
    }
    __syncthreads();
    for (int i = t; i < d; i += 256) diagonal[i] -= row[i] * row[i];
  }
  __syncthreads();
}

// Was a new basis of this side wanted and found?
__device__ __forceinline__ bool replaced(const KroneckerKernelArgs& k, int side) {
  return side >= 0 && k.changed[side] && (k.sides[side].d == 1 || k.info[k.sides[side].slot] == 0);
}
__device__ __forceinline__ bool replaced(const KroneckerKernelArgs& k, const DeviceLayer& layer) {
  return replaced(k, layer.left) || replaced(k, layer.right);
}
__device__ __forceinline__ int layers_with_factors(const KroneckerKernelArgs& k) {
  int count = 0;
  for (int l = 0; l < k.layer_count; ++l) count += k.layers[l].left >= 0 || k.layers[l].right >= 0;
  return count;
}

// How many slots a side that changes moves down when the sides
// of its dimension that do not change are left out.
__device__ __forceinline__ int slots_left_out(const KroneckerKernelArgs& k, const DeviceSide& side) {
  int count = 0;
  for (int s = 0; s < k.side_count; ++s)
    count += k.sides[s].d == side.d && k.sides[s].slot < side.slot && !k.changed[s];
  return count;
}

// Packs the sides that change into `product`, one after another, for the eigensolver.
extern "C" __global__ void __launch_bounds__(256)
    gather_for_eigensolver(const __grid_constant__ BasisKernelArgs w) {
  if (!w.k.changed[blockIdx.y]) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const i64 size = (i64)s.d * s.d;
  const double* from = w.from_result ? s.result : s.factor;
  double* to = s.product - slots_left_out(w.k, s) * size;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < size; i += (i64)gridDim.x * 256) to[i] = from[i];
}

// And back: rows of `result` are eigenvectors, values ascend.
extern "C" __global__ void __launch_bounds__(256)
    scatter_from_eigensolver(const __grid_constant__ BasisKernelArgs w) {
  if (!w.k.changed[blockIdx.y]) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const i64 size = (i64)s.d * s.d, left_out = slots_left_out(w.k, s);
  const double* from = s.product - left_out * size;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < size; i += (i64)gridDim.x * 256)
    s.result[i] = from[i];
  if (blockIdx.x != 0) return;
  for (int i = threadIdx.x; i < s.d; i += 256) s.values[i] = w.solved_values[s.first - left_out * s.d + i];
  if (threadIdx.x == 0) w.k.info[s.slot] = w.solved_info[s.slot - left_out];
}

// Values k and k + 1 so close that only the space of their eigenvectors is determined.
__device__ __forceinline__ bool tied(const DeviceSide& s, int k) {
  const double scale = fmax(fabs(s.values[0]), fabs(s.values[s.d - 1]));
  return linalg::in_one_cluster(s.values[k + 1], s.values[k], scale);
}

// Eigenvectors outside clusters only need a sign. One warp each.
extern "C" __global__ void __launch_bounds__(256) canonical_signs(const __grid_constant__ BasisKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, lane = threadIdx.x % 32;
  if (d == 1 || !replaced(w.k, blockIdx.y)) return;
  for (int k = blockIdx.x * 8 + threadIdx.x / 32; k < d; k += gridDim.x * 8) {
    if ((k > 0 && tied(s, k - 1)) || (k + 1 < d && tied(s, k))) continue;
    double* row = s.result + (i64)k * d;
    double largest = 0;
    for (int i = lane; i < d; i += 32) largest = fmax(largest, row[i] * row[i]);
    for (int other = 16; other > 0; other /= 2)
      largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, other));
    int pivot = d - 1;
    for (int i = d - 1 - lane; i >= 0; i -= 32)
      if (linalg::as_large_as(largest, row[i] * row[i])) pivot = i;
    for (int other = 16; other > 0; other /= 2) {
      const int p = __shfl_xor_sync(0xffffffffu, pivot, other);
      pivot = p < pivot ? p : pivot;
    }
    const double sign = row[pivot] < 0 ? -1 : 1;
    __syncwarp();
    for (int i = lane; i < d; i += 32) row[i] *= sign;
  }
}

// The rest, in descending order. One block per side.
extern "C" __global__ void __launch_bounds__(256)
    canonical_clusters(const __grid_constant__ BasisKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  if (s.d == 1 || !replaced(w.k, blockIdx.y)) return;
  double ties = 0;
  for (int k = threadIdx.x; k + 1 < s.d; k += 256) ties += tied(s, k);
  if (block_sum(ties) == 0) return;
  for (int last = s.d - 1; last >= 0;) {
    int first = last;
    while (first > 0 && tied(s, first - 1)) --first;
    if (last > first)
      canonical_cluster(s.result, s.d, last, -1, last - first + 1, s.scratch, s.scratch + s.d);
    last = first - 1;
  }
}

extern "C" __global__ void __launch_bounds__(256) install_bases(const __grid_constant__ BasisKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d;
  if (!replaced(w.k, blockIdx.y)) return;
  if (d == 1) {
    if (blockIdx.x == 0 && threadIdx.x == 0) s.basis[0] = 1;
    return;
  }
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)d * d; i += (i64)gridDim.x * 256) {
    const int row = (int)(i / d), k = (int)(i % d), from = w.descending ? d - 1 - k : k;
    s.basis[i] = s.result[(i64)from * d + row];
    if (w.values_into_factor) s.factor[i] = row == k && s.values[from] > 0 ? s.values[from] : 0;
  }
}

}  // namespace lather::optim
