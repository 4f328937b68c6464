#include "lather/optim/cuda/kernels.hpp"

namespace lather::optim {

const char* const kSsEsoapKernels = R"(
// gamma(rho): values[k] where k thresholds lie strictly below rho.
__device__ __forceinline__ double downscaling(const EsoapKernelArgs& w, double rho) {
  int k = 0;
  while (k < w.thresholds && rho > w.gamma_thresholds[k]) ++k;
  return w.gamma_values[k];
}

// One block. The ratio rho of every layer; the step halts where a basis is to be replaced.
extern "C" __global__ void __launch_bounds__(256) esoap_trigger(const __grid_constant__ EsoapKernelArgs w) {
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

// One block per side: the order of the diagonal of its factor, descending.
extern "C" __global__ void __launch_bounds__(256) esoap_order(const __grid_constant__ EsoapKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  for (int j = threadIdx.x; j < s.d; j += 256) {
    const double own = s.factor[(i64)j * (s.d + 1)];
    int rank = 0;
    for (int k = 0; k < s.d; ++k) {
      const double other = s.factor[(i64)k * (s.d + 1)];
      rank += other > own || (other == own && k < j);
    }
    w.order[s.first + rank] = j;
  }
}

// `rotated` = V with its rows and columns in that order, where their basis is a new one.
extern "C" __global__ void __launch_bounds__(256) esoap_permute(const __grid_constant__ EsoapKernelArgs w) {
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    int row = (int)(k / layer.cols), col = (int)(k % layer.cols);
    if (replaced(w.k, layer.left)) row = w.order[w.k.sides[layer.left].first + row];
    if (replaced(w.k, layer.right)) col = w.order[w.k.sides[layer.right].first + col];
    w.e.rotated[layer.offset + k] = w.e.v[layer.offset + (i64)row * layer.cols + col];
  }
}

extern "C" __global__ void __launch_bounds__(256) esoap_square_products(const __grid_constant__ EsoapKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256) s.product[i] *= s.product[i];
}

// The momentum keeps its direction, the variance is carried over, the last step is turned.
extern "C" __global__ void __launch_bounds__(256) esoap_carry_over(const __grid_constant__ EsoapKernelArgs w) {
  const LayerState& state = w.state[blockIdx.y];
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  if (!replaced(w.k, layer)) return;
  double gamma = 1;
  if (w.transition == 0) gamma = downscaling(w, state.rho);
  if (w.transition == 2) gamma = 0;  // reset
  const bool turned = w.transition >= 3 && layer.turns;  // reproject, reproject-squared, permute: by what `rotated` holds
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols; k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    w.e.v[i] = turned ? (w.e.rotated[i] > 0 ? w.e.rotated[i] : 0) : gamma * w.e.v[i];
    if (!layer.turns) continue;
    w.e.m[i] = w.new_M[i];
    w.S_rotated[i] = w.new_S[i];
  }
}

// One block: the halted step goes on.
extern "C" __global__ void __launch_bounds__(256) esoap_resume(const __grid_constant__ EsoapKernelArgs w) {
  Control& c = *w.e.s.control;
  for (int l = threadIdx.x; l < w.k.layer_count; l += 256) {
    LayerState& state = w.state[l];
    state.changed = replaced(w.k, w.k.layers[l]);
    if (state.changed != 0 && w.transition == 0) state.gamma = downscaling(w, state.rho);
    state.variance_steps = state.changed != 0 && w.transition == 2 ? 1 : state.variance_steps + 1;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int l = 0; l < w.k.layer_count; ++l) c.basis_updates += w.state[l].changed != 0;
  for (int s = 0; s < w.k.side_count; ++s)
    if (w.k.changed[s] && !replaced(w.k, s)) c.eigensolver_failed = 1;
  c.halt = kRunning;
}

// Moments in the basis, and what c and the cosine are made of.
extern "C" __global__ void __launch_bounds__(256) esoap_moments(const __grid_constant__ EsoapKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
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
__device__ __forceinline__ InnerRule inner_rule(const EsoapKernelArgs& w, int layer) {
  const StepKernelArgs& s = w.e.s;
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

__device__ __forceinline__ double largest_diagonal(const KroneckerKernelArgs& k, int side) {
  double largest = 0;
  if (side >= 0)
    for (int i = threadIdx.x; i < k.sides[side].d; i += 256) {
      const double f = k.sides[side].factor[(i64)i * (k.sides[side].d + 1)];
      if (f > largest) largest = f;
    }
  return block_max(largest);
}

// The metric a of the last step, in parts.
extern "C" __global__ void __launch_bounds__(256) esoap_metric(const __grid_constant__ EsoapKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
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
extern "C" __global__ void __launch_bounds__(256) esoap_direction(const __grid_constant__ EsoapKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
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
extern "C" __global__ void __launch_bounds__(256) eigenvalue_ranges(const __grid_constant__ KroneckerKernelArgs w) {
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

}  // namespace lather::optim
