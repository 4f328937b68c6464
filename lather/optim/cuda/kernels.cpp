#include "lather/optim/cuda/kernels.hpp"

namespace lather::optim {

namespace {

// All reductions add in a fixed order: the same bits every time.
constexpr const char* kCommon = R"(
typedef long long i64;

__device__ __forceinline__ bool is_finite(double x) { return fabs(x) <= 1.7976931348623157e308; }

__device__ __forceinline__ double block_sum(double value) {
  __shared__ double shared[256];
  __syncthreads();
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  return shared[0];
}

__device__ __forceinline__ double block_max(double value) {
  __shared__ double shared[256];
  __syncthreads();
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half && shared[threadIdx.x + half] > shared[threadIdx.x]) shared[threadIdx.x] = shared[threadIdx.x + half];
    __syncthreads();
  }
  return shared[0];
}

__device__ __forceinline__ double ordered_sum(const double* values, int count, int stride) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += values[(i64)i * stride];
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) gradient_norms(const __grid_constant__ StepKernelArgs w) {
  double sum = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < w.size; i += (i64)gridDim.x * 256) sum += w.gradient[i] * w.gradient[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) w.gradient_norms[blockIdx.x] = sum;
}

// After gradient_norms. What is not finite is let through: the step will find it.
extern "C" __global__ void __launch_bounds__(256) clip_gradient(const __grid_constant__ ClipKernelArgs w) {
  double sum = 0;
  for (int i = threadIdx.x; i < w.s.gradient_blocks; i += 256) sum += w.s.gradient_norms[i];
  const double norm = sqrt(block_sum(sum));
  if (!is_finite(norm) || (!w.by_value && !(norm > w.limit))) return;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < w.s.size; i += (i64)gridDim.x * 256) {
    const double g = w.gradient[i];
    w.gradient[i] = w.by_value ? fmax(-w.limit, fmin(w.limit, g)) : g * (w.limit / norm);
  }
}

extern "C" __global__ void __launch_bounds__(256) begin_step(const __grid_constant__ StepKernelArgs w) {
  Control& c = *w.control;
  if (c.halt) return;
  double sum = 0;
  for (int i = threadIdx.x; i < w.gradient_blocks; i += 256) sum += w.gradient_norms[i];
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  double loss = 0;
  for (int k = 0; k < w.terms; ++k) loss += w.loss_scales[k] * w.losses[k];
  c.loss = loss;
  c.gradient_norm = sqrt(sum);
  if (!is_finite(loss) || !is_finite(sum)) {
    c.halt = kGradientNotFinite;
    return;
  }
  if (c.points_changed) c.secant_valid = 0;  // gradients of two functions have no difference
  c.t += 1;
  c.rate = w.learning_rate * w.factors[c.index];
  c.correction1 = 1 - pow(w.beta1, (double)c.t);
  c.correction2 = w.beta2 == 1 ? 1 : 1 - pow(w.beta2, (double)c.t);  // sums have no bias
}

// W <- W + change, unless the change is not finite.
extern "C" __global__ void __launch_bounds__(256) apply_change(const __grid_constant__ StepKernelArgs w) {
  Control& c = *w.control;
  if (c.halt) return;  // by block 0 of this very launch too: it found the same sum
  double sum = 0;
  for (int i = threadIdx.x; i < w.change_blocks; i += 256) sum += w.change_norms[i];
  sum = block_sum(sum);
  const bool first = blockIdx.x == 0 && threadIdx.x == 0;
  if (!is_finite(sum)) {
    if (first) c.halt = kStepNotFinite;
    return;
  }
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < w.size; i += (i64)gridDim.x * 256) {
    w.x[i] += w.change[i];
    if (w.previous) w.previous[i] = w.gradient[i];
  }
  if (first) {
    c.step_norm = sqrt(sum);
    c.index += 1;
    c.secant_valid = 1;
  }
}

// Adam's moments and change of one element; `decay` is that of the step, not of the gradient.
__device__ __forceinline__ double adam_element(const ElementWork& w, i64 i, double decay) {
  const StepKernelArgs& s = w.s;
  const Control& c = *s.control;
  const double g = w.coupled_decay && s.weight_decay > 0 ? s.gradient[i] + s.weight_decay * s.x[i] : s.gradient[i];
  const double m = s.beta1 * w.m[i] + (1 - s.beta1) * g, v = s.beta2 * w.v[i] + (s.beta2 == 1 ? 1 : 1 - s.beta2) * g * g;
  w.m[i] = m, w.v[i] = v;
  double divisor = v;
  if (w.largest_v) divisor = w.largest_v[i] = w.largest_v[i] > v ? w.largest_v[i] : v;
  const double u = (m / c.correction1) / (sqrt(divisor / c.correction2) + s.epsilon);
  const double rate = c.rate * w.adam_rate_ratio;
  return decay == 0 ? -rate * u : -rate * (u + decay * s.x[i]);
}

// Blocks of layers: change = -rate (U + decay W). The rest: Adam.
extern "C" __global__ void __launch_bounds__(256) descend(const __grid_constant__ ElementWork w) {
  const StepKernelArgs& s = w.s;
  const Control& c = *s.control;
  if (c.halt) return;
  const DeviceBlock b = w.blocks[blockIdx.y];
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < b.size; k += (i64)gridDim.x * 256) {
    const i64 i = b.offset + k;
    double change;
    if (b.layer < 0)
      change = adam_element(w, i, w.coupled_decay ? 0 : s.weight_decay);
    else
      change = s.weight_decay == 0 ? -c.rate * w.U[i] : -c.rate * (w.U[i] + s.weight_decay * s.x[i]);
    s.change[i] = change;
    sum += change * change;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) s.change_norms[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}
)";

constexpr const char* kKronecker = R"(
// This thread block's sums of squares off the diagonal of its side and on it, for off_diagonal().
__device__ __forceinline__ void put_squares(const KroneckerKernelArgs& k, double off, double on) {
  off = block_sum(off);
  on = block_sum(on);
  if (threadIdx.x != 0) return;
  double* partial = k.partials + 2 * ((i64)blockIdx.y * gridDim.x + blockIdx.x);
  partial[0] = off, partial[1] = on;
}

// F = keep F + weight product; sums of squares off the diagonal and on it.
extern "C" __global__ void __launch_bounds__(256) accumulate_factors(const __grid_constant__ FactorKernelArgs w) {
  if (w.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const i64 size = (i64)s.d * s.d;
  double off = 0, on = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < size; i += (i64)gridDim.x * 256) {
    const double f = w.keep * s.factor[i] + w.weight * s.product[i];
    s.factor[i] = f;
    if (i / s.d == i % s.d) on += f * f;
    else off += f * f;
  }
  put_squares(w.k, off, on);
}

__device__ __forceinline__ void off_diagonal(const KroneckerKernelArgs& k, int side, double* off, double* whole) {
  const double* partial = k.partials + 2 * (i64)side * k.factor_blocks;
  const double o = ordered_sum(partial, k.factor_blocks, 2), d = ordered_sum(partial + 1, k.factor_blocks, 2);
  *off = sqrt(o);
  *whole = sqrt(o + d);
}

// Rows first ... first + step (size - 1) of X (d columns) become the canonical basis of the space they span: see
// linalg::make_canonical. `diagonal` and `reflector` hold d numbers each.
__device__ void canonical_cluster(double* X, int d, int first, int step, int size, double* diagonal, double* reflector) {
  const int t = threadIdx.x;
  for (int i = t; i < d; i += 256) {
    double sum = 0;
    for (int k = 0; k < size; ++k) sum += X[(i64)(first + step * k) * d + i] * X[(i64)(first + step * k) * d + i];
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
      if (diagonal[i] >= (1 - 1e-8) * largest && -i > earliest) earliest = -i;
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

// How many slots a side that changes moves down when those that do not change, of its dimension, are left out.
__device__ __forceinline__ int slots_left_out(const KroneckerKernelArgs& k, const DeviceSide& side) {
  int count = 0;
  for (int s = 0; s < k.side_count; ++s) count += k.sides[s].d == side.d && k.sides[s].slot < side.slot && !k.changed[s];
  return count;
}

// The sides that change, one after another into `product`, for the eigensolver.
extern "C" __global__ void __launch_bounds__(256) gather_for_eigensolver(const __grid_constant__ BasisKernelArgs w) {
  if (!w.k.changed[blockIdx.y]) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const i64 size = (i64)s.d * s.d;
  const double* from = w.from_result ? s.result : s.factor;
  double* to = s.product - slots_left_out(w.k, s) * size;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < size; i += (i64)gridDim.x * 256) to[i] = from[i];
}

// And back: rows of `result` are eigenvectors, values ascend.
extern "C" __global__ void __launch_bounds__(256) scatter_from_eigensolver(const __grid_constant__ BasisKernelArgs w) {
  if (!w.k.changed[blockIdx.y]) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const i64 size = (i64)s.d * s.d, left_out = slots_left_out(w.k, s);
  const double* from = s.product - left_out * size;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < size; i += (i64)gridDim.x * 256) s.result[i] = from[i];
  if (blockIdx.x != 0) return;
  for (int i = threadIdx.x; i < s.d; i += 256) s.values[i] = w.solved_values[s.first - left_out * s.d + i];
  if (threadIdx.x == 0) w.k.info[s.slot] = w.solved_info[s.slot - left_out];
}

// Values k and k + 1 so close that only the space of their eigenvectors is determined.
__device__ __forceinline__ bool tied(const DeviceSide& s, int k) {
  const double scale = fmax(fabs(s.values[0]), fabs(s.values[s.d - 1]));
  return fabs(s.values[k + 1] - s.values[k]) <= 1e-12 * scale;
}

// Eigenvectors that stand alone need a sign only. One warp each.
extern "C" __global__ void __launch_bounds__(256) canonical_signs(const __grid_constant__ BasisKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, lane = threadIdx.x % 32;
  if (d == 1 || !replaced(w.k, blockIdx.y)) return;
  for (int k = blockIdx.x * 8 + threadIdx.x / 32; k < d; k += gridDim.x * 8) {
    if ((k > 0 && tied(s, k - 1)) || (k + 1 < d && tied(s, k))) continue;
    double* row = s.result + (i64)k * d;
    double largest = 0;
    for (int i = lane; i < d; i += 32) largest = fmax(largest, row[i] * row[i]);
    for (int other = 16; other > 0; other /= 2) largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, other));
    int pivot = d - 1;
    for (int i = d - 1 - lane; i >= 0; i -= 32)
      if (row[i] * row[i] >= (1 - 1e-8) * largest) pivot = i;
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
extern "C" __global__ void __launch_bounds__(256) canonical_clusters(const __grid_constant__ BasisKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  if (s.d == 1 || !replaced(w.k, blockIdx.y)) return;
  double ties = 0;
  for (int k = threadIdx.x; k + 1 < s.d; k += 256) ties += tied(s, k);
  if (block_sum(ties) == 0) return;
  for (int last = s.d - 1; last >= 0;) {
    int first = last;
    while (first > 0 && tied(s, first - 1)) --first;
    if (last > first) canonical_cluster(s.result, s.d, last, -1, last - first + 1, s.scratch, s.scratch + s.d);
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
)";

}  // namespace

std::string device_kernel_source() {
  return std::string(kDeviceStructures) + kCommon + kKronecker + kSsEsoapKernels + kSoapKernels +
         kPurifyingShampooKernels + kSgdKernels + kMultiAdamKernels + kMuonKernels + kShampooKernels;
}

}  // namespace lather::optim
