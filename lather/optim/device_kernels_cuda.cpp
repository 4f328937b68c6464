#include "lather/optim/device_kernels_cuda.hpp"

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

extern "C" __global__ void __launch_bounds__(256) gradient_norms(const __grid_constant__ StepWork w) {
  double sum = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < w.size; i += (i64)gridDim.x * 256) sum += w.gradient[i] * w.gradient[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) w.gradient_norms[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) begin_step(const __grid_constant__ StepWork w) {
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
  c.t += 1;
  c.rate = w.learning_rate * w.factors[c.index];
  c.correction1 = 1 - pow(w.beta1, (double)c.t);
  c.correction2 = 1 - pow(w.beta2, (double)c.t);
}

// W <- W + change, unless the change is not finite.
extern "C" __global__ void __launch_bounds__(256) apply_change(const __grid_constant__ StepWork w) {
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
  const StepWork& s = w.s;
  const Control& c = *s.control;
  const double g = w.coupled_decay && s.weight_decay > 0 ? s.gradient[i] + s.weight_decay * s.x[i] : s.gradient[i];
  const double m = s.beta1 * w.m[i] + (1 - s.beta1) * g, v = s.beta2 * w.v[i] + (1 - s.beta2) * g * g;
  w.m[i] = m, w.v[i] = v;
  double divisor = v;
  if (w.largest_v) divisor = w.largest_v[i] = w.largest_v[i] > v ? w.largest_v[i] : v;
  const double u = (m / c.correction1) / (sqrt(divisor / c.correction2) + s.epsilon);
  return decay == 0 ? -c.rate * u : -c.rate * (u + decay * s.x[i]);
}

// Blocks of layers: change = -rate (U + decay W). The rest: Adam.
extern "C" __global__ void __launch_bounds__(256) descend(const __grid_constant__ ElementWork w) {
  const StepWork& s = w.s;
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
// F = keep F + weight product; sums of squares off the diagonal and on it.
extern "C" __global__ void __launch_bounds__(256) accumulate_factors(const __grid_constant__ FactorWork w) {
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
  off = block_sum(off);
  on = block_sum(on);
  if (threadIdx.x == 0) {
    double* partial = w.k.partials + 2 * ((i64)blockIdx.y * gridDim.x + blockIdx.x);
    partial[0] = off, partial[1] = on;
  }
}

__device__ __forceinline__ void off_diagonal(const KroneckerWork& k, int side, double* off, double* whole) {
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

// One block per side. Rows of `result` are eigenvectors, values ascend.
extern "C" __global__ void __launch_bounds__(256) install_bases(const __grid_constant__ BasisWork w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, t = threadIdx.x;
  if (!w.k.changed[blockIdx.y] || (d > 1 && w.k.info[s.place] != 0)) return;
  if (d == 1) {
    if (t == 0) s.basis[0] = 1;
    return;
  }
  double scale = 0;
  for (int i = t; i < d; i += 256) scale = fabs(s.values[i]) > scale ? fabs(s.values[i]) : scale;
  scale = block_max(scale);
  for (int last = d - 1; last >= 0;) {  // clusters in descending order
    int first = last;
    while (first > 0 && fabs(s.values[first] - s.values[first - 1]) <= 1e-12 * scale) --first;
    canonical_cluster(s.result, d, last, -1, last - first + 1, s.scratch, s.scratch + d);
    last = first - 1;
  }
  for (i64 i = t; i < (i64)d * d; i += 256) {
    const int row = (int)(i / d), k = (int)(i % d), from = w.descending ? d - 1 - k : k;
    s.basis[i] = s.result[(i64)from * d + row];
    if (w.values_into_factor) s.factor[i] = row == k && s.values[from] > 0 ? s.values[from] : 0;
  }
}
)";

constexpr const char* kEsoap = R"(
// One block. The ratio rho of every layer; the step halts where a basis is to be replaced.
extern "C" __global__ void __launch_bounds__(256) esoap_trigger(const __grid_constant__ EsoapWork w) {
  Control& c = *w.e.s.control;
  if (c.halt) return;
  __shared__ int wanted;
  if (threadIdx.x == 0) wanted = 0;
  __syncthreads();
  const bool due = c.t > w.warmup_steps && c.t % w.check_interval == 0;
  for (int l = threadIdx.x; l < w.k.layer_count; l += 256) {
    const DeviceLayer layer = w.k.layers[l];
    double ratio[2] = {0, 0};
    for (int side = 0; side < 2; ++side) {
      const int s = side ? layer.right : layer.left;
      if (s < 0) continue;
      double off, whole;
      off_diagonal(w.k, s, &off, &whole);
      ratio[side] = whole + w.ratio_epsilon > 0 ? off / (whole + w.ratio_epsilon) : 0;
    }
    LayerState& state = w.state[l];
    state.rho = ratio[0] > ratio[1] ? ratio[0] : ratio[1];
    state.gamma = 1;
    const bool fires = due && state.rho > w.trigger;
    state.changed = fires;
    if (fires) wanted = 1;
    if (layer.left >= 0) w.k.changed[layer.left] = fires && (!w.per_factor || ratio[0] > w.trigger);
    if (layer.right >= 0) w.k.changed[layer.right] = fires && (!w.per_factor || ratio[1] > w.trigger);
  }
  __syncthreads();
  if (wanted) {
    if (threadIdx.x == 0) c.halt = kBasisWanted;
  } else {
    for (int l = threadIdx.x; l < w.k.layer_count; l += 256) w.state[l].variance_steps += 1;
  }
}

// The momentum keeps its direction, the variance is carried over, the last step is turned.
extern "C" __global__ void __launch_bounds__(256) esoap_carry_over(const __grid_constant__ EsoapWork w) {
  const LayerState& state = w.state[blockIdx.y];
  if (state.changed == 0) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  double gamma = 1;
  if (w.transition == 0) {  // downscale
    int k = 0;
    while (k < w.thresholds && state.rho > w.gamma_thresholds[k]) ++k;
    gamma = w.gamma_values[k];
  }
  if (w.transition == 2) gamma = 0;  // reset
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    w.e.v[i] *= gamma;
    if (!layer.turns) continue;
    w.e.m[i] = w.new_M[i];
    w.S_rotated[i] = w.new_S[i];
  }
}

// One block: the halted step goes on.
extern "C" __global__ void __launch_bounds__(256) esoap_resume(const __grid_constant__ EsoapWork w) {
  Control& c = *w.e.s.control;
  for (int l = threadIdx.x; l < w.k.layer_count; l += 256) {
    LayerState& state = w.state[l];
    if (state.changed != 0 && w.transition == 0) {
      int k = 0;
      while (k < w.thresholds && state.rho > w.gamma_thresholds[k]) ++k;
      state.gamma = w.gamma_values[k];
    }
    state.variance_steps = state.changed != 0 && w.transition == 2 ? 1 : state.variance_steps + 1;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int l = 0; l < w.k.layer_count; ++l) c.basis_updates += w.state[l].changed != 0;
  for (int s = 0; s < w.k.side_count; ++s)
    if (w.k.changed[s] && w.k.sides[s].d > 1 && w.k.info[w.k.sides[s].place] != 0) c.eigensolver_failed = 1;
  c.halt = kRunning;
}

// Moments in the basis, and what c and the cosine are made of.
extern "C" __global__ void __launch_bounds__(256) esoap_moments(const __grid_constant__ EsoapWork w) {
  const StepWork& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  double largest = 0, c = 0, old_new = 0, new_new = 0, old_old = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = s.gradient[i], old = s.previous[i], G = layer.turns ? w.e.rotated[i] : g;
    const double v = s.beta2 * w.e.v[i] + (1 - s.beta2) * G * G;
    w.e.m[i] = s.beta1 * w.e.m[i] + (1 - s.beta1) * G;
    w.e.v[i] = v;
    if (v > largest) largest = v;
    c += (g - old) * s.change[i];
    old_new += g * old, new_new += g * g, old_old += old * old;
  }
  largest = block_max(largest);
  c = block_sum(c), old_new = block_sum(old_new), new_new = block_sum(new_new), old_old = block_sum(old_old);
  if (threadIdx.x != 0) return;
  double* partial = w.partials + 5 * ((i64)blockIdx.y * gridDim.x + blockIdx.x);
  partial[0] = largest, partial[1] = c, partial[2] = old_new, partial[3] = new_new, partial[4] = old_old;
}

struct InnerRule { double correction2, epsilon; };
__device__ __forceinline__ InnerRule inner_rule(const EsoapWork& w, int layer) {
  const StepWork& s = w.e.s;
  InnerRule rule;
  rule.correction2 = 1 - pow(s.beta2, w.state[layer].variance_steps);
  double largest = 0;
  for (int b = 0; b < (int)gridDim.x; ++b) {
    const double v = w.partials[5 * ((i64)layer * gridDim.x + b)];
    if (v > largest) largest = v;
  }
  rule.epsilon = s.epsilon + (w.relative_epsilon > 0 ? w.relative_epsilon * sqrt(largest / rule.correction2) : 0);
  return rule;
}

__device__ __forceinline__ double largest_diagonal(const KroneckerWork& k, int side) {
  double largest = 0;
  if (side >= 0)
    for (int i = threadIdx.x; i < k.sides[side].d; i += 256) {
      const double f = k.sides[side].factor[(i64)i * (k.sides[side].d + 1)];
      if (f > largest) largest = f;
    }
  return block_max(largest);
}

// The metric a of the last step, in parts.
extern "C" __global__ void __launch_bounds__(256) esoap_metric(const __grid_constant__ EsoapWork w) {
  const StepWork& s = w.e.s;
  if (s.control->halt || !s.control->secant_valid || s.control->t <= 1) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const InnerRule rule = inner_rule(w, blockIdx.y);
  double left_floor = 0, right_floor = 0;
  if (w.metric == 1) {
    left_floor = w.eigenvalue_floor * largest_diagonal(w.k, layer.left);
    right_floor = w.eigenvalue_floor * largest_diagonal(w.k, layer.right);
  }
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double S = w.S_rotated[i];
    if (w.metric == 2) {  // adam
      sum += S * S * (w.momentum_only ? 1 : sqrt(w.e.v[i] / rule.correction2) + rule.epsilon);
    } else if (w.metric == 1 || w.metric == 3) {  // paper, shampoo
      const int row = (int)(k / layer.cols), col = (int)(k % layer.cols);
      const double l = layer.left < 0 ? 1 : w.k.sides[layer.left].factor[(i64)row * (layer.rows + 1)];
      const double r = layer.right < 0 ? 1 : w.k.sides[layer.right].factor[(i64)col * (layer.cols + 1)];
      if (S == 0) continue;
      if (w.metric == 1) sum += S * S / ((l + left_floor) * (r + right_floor));
      else sum += S * S * (l * r > 0 ? sqrt(sqrt(l * r)) : 0);
    } else if (w.metric == 4) {  // Oren-Luenberger
      sum -= s.change[i] * s.previous[i];
    } else {
      sum += s.change[i] * s.change[i];
    }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0)
    w.metric_partials[(i64)blockIdx.y * gridDim.x + blockIdx.x] = w.metric == 2 || w.metric == 3 ? sum / s.control->rate : sum;
}

__device__ __forceinline__ double self_scaling(double c, double a, double low, double high) {
  if (!(c > 0 && a > 0)) return 1;
  const double ratio = c / a > low ? c / a : low;
  return ratio < high ? ratio : high;
}

// U~ = tau^(-power) M^ / (sqrt V^ + eps); the step in the basis.
extern "C" __global__ void __launch_bounds__(256) esoap_direction(const __grid_constant__ EsoapWork w) {
  const StepWork& s = w.e.s;
  const Control& control = *s.control;
  if (control.halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const InnerRule rule = inner_rule(w, blockIdx.y);
  __shared__ double shared_scale;
  if (threadIdx.x == 0) {
    const bool scaled = w.metric != 0 && control.secant_valid;
    double c = 0, a = 0, all_c = 0, all_a = 0;
    for (int l = 0; l < w.k.layer_count; ++l) {
      if (!w.global_tau && l != (int)blockIdx.y) continue;
      const double own_c = control.t > 1 ? ordered_sum(w.partials + 5 * (i64)l * gridDim.x + 1, gridDim.x, 5) : 0;
      const double own_a = scaled && control.t > 1 ? ordered_sum(w.metric_partials + (i64)l * gridDim.x, gridDim.x, 1) : 0;
      all_c += own_c, all_a += own_a;
      if (l == (int)blockIdx.y) c = own_c, a = own_a;
    }
    const double tau = scaled ? self_scaling(all_c, all_a, w.tau_min, w.tau_max) : 1;
    shared_scale = tau != 1 ? pow(tau, -w.tau_power) : 1;
    if (blockIdx.x == 0) {
      const double* partial = w.partials + 5 * (i64)blockIdx.y * gridDim.x;
      const double old_new = ordered_sum(partial + 2, gridDim.x, 5), new_new = ordered_sum(partial + 3, gridDim.x, 5),
                   old_old = ordered_sum(partial + 4, gridDim.x, 5);
      LayerState& state = w.state[blockIdx.y];
      state.tau = tau, state.c = c, state.a = a;
      state.gradient_cosine = new_new > 0 && old_old > 0 ? old_new / (sqrt(new_new) * sqrt(old_old)) : 0;
    }
  }
  __syncthreads();
  const double scale = shared_scale;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    double u = w.e.m[i] / control.correction1;
    if (!w.momentum_only) u /= sqrt(w.e.v[i] / rule.correction2) + rule.epsilon;
    u *= scale;
    w.e.U_rotated[i] = u;
    if (!layer.turns) w.e.U[i] = u;
    w.S_rotated[i] = -control.rate * u;
  }
}

// Smallest and largest entry of the diagonal of every factor.
extern "C" __global__ void __launch_bounds__(256) eigenvalue_ranges(const __grid_constant__ KroneckerWork w) {
  const DeviceSide s = w.sides[blockIdx.y];
  double low = -1e308, high = -1e308;
  for (int i = threadIdx.x; i < s.d; i += 256) {
    const double f = s.factor[(i64)i * (s.d + 1)];
    if (f > high) high = f;
    if (-f > low) low = -f;
  }
  low = -block_max(low);
  high = block_max(high);
  if (threadIdx.x == 0) w.partials[2 * blockIdx.y] = low, w.partials[2 * blockIdx.y + 1] = high;
}
)";

constexpr const char* kSoap = R"(
// SOAP's Adam: no correction of the root, the rate is corrected instead; t - 1 steps have been taken before.
extern "C" __global__ void __launch_bounds__(256) soap_direction(const __grid_constant__ SoapWork w) {
  const StepWork& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = layer.turns ? w.e.rotated[i] : s.gradient[i];
    const double m = s.beta1 * w.e.m[i] + (1 - s.beta1) * g, v = s.beta2 * w.e.v[i] + (1 - s.beta2) * g * g;
    w.e.m[i] = m, w.e.v[i] = v;
    const double u = m / (sqrt(v) + s.epsilon);
    w.e.U_rotated[i] = u;
    if (!layer.turns) w.e.U[i] = u;
  }
}

// W <- W - alpha N, and only then W <- W - rate lambda W.
extern "C" __global__ void __launch_bounds__(256) soap_descend(const __grid_constant__ SoapWork w) {
  const StepWork& s = w.e.s;
  const Control& c = *s.control;
  if (c.halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  double alpha = c.rate;
  if (w.e.correct_bias) {
    const double t = (double)(c.t - 1);
    alpha = c.rate * sqrt(1 - pow(s.beta2, t)) / (1 - pow(s.beta1, t));
  }
  const double decay = c.rate * s.weight_decay;
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double change = -alpha * w.e.U[i] - decay * (s.x[i] - alpha * w.e.U[i]);
    s.change[i] = change;
    sum += change * change;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) s.change_norms[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// The first gradient only builds the bases.
extern "C" __global__ void __launch_bounds__(256) soap_skip(const __grid_constant__ SoapWork w) {
  const StepWork& s = w.e.s;
  if (s.control->halt) return;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < s.size; i += (i64)gridDim.x * 256) s.change[i] = 0;
  for (int i = (int)(blockIdx.x * 256 + threadIdx.x); i < s.change_blocks; i += gridDim.x * 256) s.change_norms[i] = 0;
  for (int i = (int)(blockIdx.x * 256 + threadIdx.x); i < w.k.side_count; i += gridDim.x * 256) w.k.changed[i] = 1;
}

// One block per side. `product` holds A Q: columns sorted by diag(Q^T A Q), into `result`.
extern "C" __global__ void __launch_bounds__(256) soap_sort(const __grid_constant__ SoapWork w) {
  if (w.e.s.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, t = threadIdx.x;
  int* order = w.order + s.first;
  double* estimate = s.scratch;
  for (int j = t; j < d; j += 256) {
    double sum = 0;
    for (int i = 0; i < d; ++i) sum += s.basis[(i64)i * d + j] * s.product[(i64)i * d + j];
    estimate[j] = sum;
  }
  __syncthreads();
  for (int j = t; j < d; j += 256) {
    int rank = 0;
    for (int k = 0; k < d; ++k) rank += estimate[k] > estimate[j] || (estimate[k] == estimate[j] && k < j);
    order[rank] = j;
  }
  __syncthreads();
  for (i64 i = t; i < (i64)d * d; i += 256) s.result[i] = s.product[i / d * d + order[i % d]];
}

// One block of 128 × 8 threads per side: `basis` = Q of a Householder factorization of `result`, which is overwritten.
extern "C" __global__ void __launch_bounds__(1024) orthonormal_factor(const __grid_constant__ SoapWork w) {
  if (w.e.s.control->halt) return;
  const DeviceSide s = w.k.sides[blockIdx.y];
  const int d = s.d, x = threadIdx.x, y = threadIdx.y, t = y * 128 + x;
  double *A = s.result, *Q = s.basis, *coefficient = s.scratch;
  __shared__ double shared[8][128];
  __shared__ double beta_of, scale_of, coefficient_of;
  for (i64 i = t; i < (i64)d * d; i += 1024) Q[i] = i / d == i % d;
  for (int k = 0; k < d; ++k) {
    double tail = 0;
    for (int i = k + 1 + t; i < d; i += 1024) tail += A[(i64)i * d + k] * A[(i64)i * d + k];
    shared[y][x] = tail;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
      if (t < half) shared[t / 128][t % 128] += shared[(t + half) / 128][(t + half) % 128];
      __syncthreads();
    }
    if (t == 0) {
      const double alpha = A[(i64)k * d + k], sum = shared[0][0];
      if (sum <= 2.2250738585072014e-308) {
        coefficient_of = 0, beta_of = alpha, scale_of = 0;
      } else {
        const double norm = sqrt(alpha * alpha + sum);
        beta_of = alpha >= 0 ? -norm : norm;
        scale_of = 1 / (alpha - beta_of);
        coefficient_of = (beta_of - alpha) / beta_of;
      }
      coefficient[k] = coefficient_of;
    }
    __syncthreads();
    for (int i = k + 1 + t; i < d; i += 1024) A[(i64)i * d + k] *= scale_of;  // the reflector; its first entry is 1
    __syncthreads();
    for (int first = k + 1; first < d; first += 128) {
      const int j = first + x;
      double sum = 0;
      if (j < d) {
        for (int i = k + 1 + y; i < d; i += 8) sum += A[(i64)i * d + k] * A[(i64)i * d + j];
        if (y == 0) sum += A[(i64)k * d + j];
      }
      __syncthreads();
      shared[y][x] = sum;
      __syncthreads();
      if (j < d) {
        double whole = 0;
        for (int r = 0; r < 8; ++r) whole += shared[r][x];
        whole *= coefficient_of;
        for (int i = k + 1 + y; i < d; i += 8) A[(i64)i * d + j] -= whole * A[(i64)i * d + k];
        if (y == 0) A[(i64)k * d + j] -= whole;
      }
    }
    __syncthreads();
  }
  for (int k = d - 1; k >= 0; --k) {
    for (int first = k; first < d; first += 128) {
      const int j = first + x;
      double sum = 0;
      if (j < d) {
        for (int i = k + 1 + y; i < d; i += 8) sum += A[(i64)i * d + k] * Q[(i64)i * d + j];
        if (y == 0) sum += Q[(i64)k * d + j];
      }
      __syncthreads();
      shared[y][x] = sum;
      __syncthreads();
      if (j < d) {
        double whole = 0;
        for (int r = 0; r < 8; ++r) whole += shared[r][x];
        whole *= coefficient[k];
        for (int i = k + 1 + y; i < d; i += 8) Q[(i64)i * d + j] -= whole * A[(i64)i * d + k];
        if (y == 0) Q[(i64)k * d + j] -= whole;
      }
    }
    __syncthreads();
  }
}

// V goes with the columns.
extern "C" __global__ void __launch_bounds__(256) soap_permute(const __grid_constant__ SoapWork w) {
  if (w.e.s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  if (layer.left < 0 && layer.right < 0) return;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    int row = (int)(k / layer.cols), col = (int)(k % layer.cols);
    if (layer.left >= 0) row = w.order[w.k.sides[layer.left].first + row];
    if (layer.right >= 0) col = w.order[w.k.sides[layer.right].first + col];
    w.new_V[layer.offset + k] = w.e.v[layer.offset + (i64)row * layer.cols + col];
  }
}

extern "C" __global__ void __launch_bounds__(256) soap_carry_over(const __grid_constant__ SoapWork w) {
  if (w.e.s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  if (layer.left < 0 && layer.right < 0) return;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    w.e.v[i] = w.new_V[i];
    if (layer.turns) w.e.m[i] = w.new_M[i];
  }
}
)";

constexpr const char* kPurify = R"(
// `result` = A, the factor without its bias, plus epsilon on the diagonal.
extern "C" __global__ void __launch_bounds__(256) purify_factors(const __grid_constant__ PurifyWork w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const StepWork& p = w.e.s;
  const double correction = w.e.correct_bias && p.beta2 < 1 ? p.control->correction2 : 1;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256)
    s.result[i] = s.factor[i] / correction + (i / s.d == i % s.d ? p.epsilon : 0);
}

// Squares off the diagonal of `product` and on it.
extern "C" __global__ void __launch_bounds__(256) purify_squares(const __grid_constant__ PurifyWork w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  double off = 0, on = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256) {
    const double b = s.product[i];
    if (i / s.d == i % s.d) on += b * b;
    else off += b * b;
  }
  off = block_sum(off);
  on = block_sum(on);
  if (threadIdx.x == 0) {
    double* partial = w.k.partials + 2 * ((i64)blockIdx.y * gridDim.x + blockIdx.x);
    partial[0] = off, partial[1] = on;
  }
}

extern "C" __global__ void __launch_bounds__(256) purify_check(const __grid_constant__ PurifyWork w) {
  Control& c = *w.e.s.control;
  if (c.halt) return;
  __shared__ int wanted;
  if (threadIdx.x == 0) wanted = 0;
  __syncthreads();
  for (int s = threadIdx.x; s < w.k.side_count; s += 256) {
    double off, whole;
    off_diagonal(w.k, s, &off, &whole);
    const int replace = w.always || !(off <= w.tolerance * whole);
    w.k.changed[s] = replace;
    if (replace) wanted = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0 && wanted) c.halt = kBasisWanted;
}

extern "C" __global__ void __launch_bounds__(256) purify_resume(const __grid_constant__ PurifyWork w) {
  Control& c = *w.e.s.control;
  if (threadIdx.x != 0) return;
  for (int l = 0; l < w.k.layer_count; ++l) {
    const DeviceLayer layer = w.k.layers[l];
    c.basis_updates += (layer.left >= 0 && w.k.changed[layer.left]) || (layer.right >= 0 && w.k.changed[layer.right]);
  }
  c.halt = kRunning;
}

// Corrected eigenvalues from the rotated gradient, momentum in parameter space.
extern "C" __global__ void __launch_bounds__(256) purify_moments(const __grid_constant__ PurifyWork w) {
  const StepWork& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const double fresh = s.beta2 < 1 ? 1 - s.beta2 : 1;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = s.gradient[i], G = layer.turns ? w.e.rotated[i] : g;
    w.e.v[i] = s.beta2 * w.e.v[i] + fresh * G * G;
    w.e.m[i] = s.beta1 * w.e.m[i] + (1 - s.beta1) * g;
  }
}

// `rotated` holds the momentum in the basis.
extern "C" __global__ void __launch_bounds__(256) purify_direction(const __grid_constant__ PurifyWork w) {
  const StepWork& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const double correction1 = w.e.correct_bias ? s.control->correction1 : 1;
  const double correction2 = w.e.correct_bias && s.beta2 < 1 ? s.control->correction2 : 1;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double m = layer.turns ? w.e.rotated[i] : w.e.m[i];
    const double u = (m / correction1) / (sqrt(w.e.v[i] / correction2) + s.epsilon);
    w.e.U_rotated[i] = u;
    if (!layer.turns) w.e.U[i] = u;
  }
}
)";

}  // namespace

std::string device_kernel_source() {
  return std::string(kDeviceStructures) + kCommon + kKronecker + kEsoap + kSoap + kPurify;
}

}  // namespace lather::optim
