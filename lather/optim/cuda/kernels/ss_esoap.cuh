#pragma once
// SS-eSOAP, notation of optim/kronecker/ss_esoap.cpp.

#include "lather/optim/cuda/kernels/bases.cuh"
#include "lather/optim/formulas/ss_esoap.hpp"

namespace lather::optim {
// One block. The ratio rho of every layer; the step halts if a basis is to be replaced.
extern "C" __global__ void __launch_bounds__(256) esoap_trigger(const __grid_constant__ EsoapKernelArgs w) {
  Control& c = *w.e.s.control;
  if (c.halt) return;
  __shared__ int wanted;
  if (threadIdx.x == 0) wanted = 0;
  __syncthreads();
  const bool due = is_check_due(c.t, w.warmup_steps, w.check_interval);
  for (int l = threadIdx.x; l < w.k.layer_count; l += 256) {
    const DeviceLayer layer = w.k.layers[l];
    double ratio[2] = {0, 0};
    for (int side = 0; side < 2; ++side) {
      const int s = side ? layer.right : layer.left;
      if (s < 0) continue;
      double off, norm;
      off_diagonal(w.k, s, &off, &norm);
      ratio[side] = off_diagonal_ratio(off, norm, w.ratio_epsilon);
    }
    LayerState& state = w.state[l];
    state.rho_left = ratio[0], state.rho_right = ratio[1];
    state.rho = ratio[0] > ratio[1] ? ratio[0] : ratio[1];
    state.gamma = 1;
    const bool fires = due && state.rho > w.trigger;
    state.changed = fires;
    if (fires) wanted = 1;
    if (layer.left >= 0) w.k.changed[layer.left] = fires && side_fires(w.trigger_rule, ratio[0], w.trigger);
    if (layer.right >= 0) w.k.changed[layer.right] = fires && side_fires(w.trigger_rule, ratio[1], w.trigger);
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

// `rotated` = V with its rows and columns in that order, where their basis is new.
extern "C" __global__ void __launch_bounds__(256) esoap_permute(const __grid_constant__ EsoapKernelArgs w) {
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    int row = (int)(k / layer.cols), col = (int)(k % layer.cols);
    if (replaced(w.k, layer.left)) row = w.order[w.k.sides[layer.left].first + row];
    if (replaced(w.k, layer.right)) col = w.order[w.k.sides[layer.right].first + col];
    w.e.rotated[layer.offset + k] = w.e.v[layer.offset + (i64)row * layer.cols + col];
  }
}

extern "C" __global__ void __launch_bounds__(256)
    esoap_square_products(const __grid_constant__ EsoapKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256)
    s.product[i] *= s.product[i];
}

// The momentum keeps its direction, the variance is carried over, the last step is turned.
extern "C" __global__ void __launch_bounds__(256)
    esoap_carry_over(const __grid_constant__ EsoapKernelArgs w) {
  const LayerState& state = w.state[blockIdx.y];
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  if (!replaced(w.k, layer)) return;
  double gamma = 1;
  if (w.transition == VarianceTransition::downscale)
    gamma = downscaling(state.rho, w.gamma_thresholds, w.thresholds, w.gamma_values);
  if (is_reset(w.transition)) gamma = 0;
  const double bound =
      w.keep_step_bound ? moment_bound(w.e.s.beta1, w.e.s.beta2, (double)(w.e.s.control->t - 1)) : 0;
  const bool turned = layer.has_basis && is_turned(w.transition);  // `rotated` holds what V becomes
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double v = turned ? (w.e.rotated[i] > 0 ? w.e.rotated[i] : 0) : gamma * w.e.v[i];
    const double m = w.transition == VarianceTransition::reset_both ? 0
                     : layer.has_basis                              ? w.new_M[i]
                                                                    : w.e.m[i];
    w.e.v[i] = fmax(v, least_second_moment(m, bound));
    w.e.m[i] = m;
    if (!layer.has_basis) continue;
    w.S_rotated[i] = w.new_S[i];
  }
}

// One block: the halted step goes on.
extern "C" __global__ void __launch_bounds__(256) esoap_resume(const __grid_constant__ EsoapKernelArgs w) {
  Control& c = *w.e.s.control;
  for (int l = threadIdx.x; l < w.k.layer_count; l += 256) {
    LayerState& state = w.state[l];
    state.changed = replaced(w.k, w.k.layers[l]);
    const bool changed = state.changed != 0;
    if (changed && w.transition == VarianceTransition::downscale)
      state.gamma = downscaling(state.rho, w.gamma_thresholds, w.thresholds, w.gamma_values);
    state.variance_steps = changed && is_reset(w.transition) ? 1 : state.variance_steps + 1;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int l = 0; l < w.k.layer_count; ++l) c.basis_updates += w.state[l].changed != 0;
  for (int s = 0; s < w.k.side_count; ++s)
    if (w.k.changed[s] && !replaced(w.k, s)) c.eigensolver_failed = 1;
  c.halt = kRunning;
}

// Moments in the basis, and the sums that c and the cosine are computed from.
extern "C" __global__ void __launch_bounds__(256) esoap_moments(const __grid_constant__ EsoapKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  double largest = 0, c = 0, old_new = 0, new_new = 0, old_old = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = s.gradient[i], old = s.previous[i], G = layer.has_basis ? w.e.rotated[i] : g;
    const double v = second_moment(s.beta2, weight_of_new(s.beta2), w.e.v[i], G);
    w.e.m[i] = first_moment(s.beta1, w.e.m[i], G);
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

struct InnerRule {
  double correction1, correction2, epsilon;
};
__device__ __forceinline__ InnerRule inner_rule(const EsoapKernelArgs& w, int layer) {
  const StepKernelArgs& s = w.e.s;
  InnerRule rule;
  rule.correction1 = w.e.correct_bias ? s.control->correction1 : 1;
  rule.correction2 = w.e.correct_bias ? bias_correction(s.beta2, w.state[layer].variance_steps) : 1;
  double largest = 0;
  for (int b = 0; b < (int)gridDim.x; ++b) {
    const double v = w.partials[5 * ((i64)layer * gridDim.x + b)];
    if (v > largest) largest = v;
  }
  rule.epsilon = inner_epsilon(s.epsilon, w.relative_epsilon, largest, rule.correction2);
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
  if (w.metric == SecantMetric::paper) {
    left_floor = w.eigenvalue_floor * largest_diagonal(w.k, layer.left);
    right_floor = w.eigenvalue_floor * largest_diagonal(w.k, layer.right);
  }
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double S = w.S_rotated[i];
    switch (w.metric) {
      case SecantMetric::off: break;
      case SecantMetric::adam:
        sum +=
            S * S *
            (w.inner_update == InnerUpdate::adam ? adam_root(w.e.v[i], rule.correction2, rule.epsilon) : 1);
        break;
      case SecantMetric::paper:
      case SecantMetric::shampoo:
      case SecantMetric::kronecker_root:
      case SecantMetric::kronecker: {
        const int row = (int)(k / layer.cols), col = (int)(k % layer.cols);
        const double l = layer.left < 0 ? 1 : w.k.sides[layer.left].factor[(i64)row * (layer.rows + 1)];
        const double r = layer.right < 0 ? 1 : w.k.sides[layer.right].factor[(i64)col * (layer.cols + 1)];
        if (S == 0) break;  // a zero in a singular direction has no energy
        sum += S * S *
               (w.metric == SecantMetric::paper ? paper_metric_weight(l + left_floor, r + right_floor)
                                                : factor_metric_weight(w.metric, l, r));
        break;
      }
      case SecantMetric::oren_luenberger: sum -= s.change[i] * s.previous[i]; break;
      case SecantMetric::identity: sum += s.change[i] * s.change[i]; break;
    }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0)
    w.metric_partials[(i64)blockIdx.y * gridDim.x + blockIdx.x] =
        is_divided_by_rate(w.metric) ? sum / s.control->rate : sum;
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
    const bool scaled = w.metric != SecantMetric::off && control.secant_valid;
    double c = 0, a = 0, all_c = 0, all_a = 0;
    for (int l = 0; l < w.k.layer_count; ++l) {
      if (w.tau_scope == TauScope::layer && l != (int)blockIdx.y) continue;
      const double own_c =
          control.t > 1 ? ordered_sum(w.partials + 5 * (i64)l * gridDim.x + 1, gridDim.x, 5) : 0;
      const double own_a =
          scaled && control.t > 1 ? ordered_sum(w.metric_partials + (i64)l * gridDim.x, gridDim.x, 1) : 0;
      all_c += own_c, all_a += own_a;
      if (l == (int)blockIdx.y) c = own_c, a = own_a;
    }
    const double tau = scaled ? self_scaling(all_c, all_a, w.tau_min, w.tau_max) : 1;
    shared_scale = step_scale(tau, w.tau_power);
    if (blockIdx.x == 0) {
      const double* partial = w.partials + 5 * (i64)blockIdx.y * gridDim.x;
      const double old_new = ordered_sum(partial + 2, gridDim.x, 5),
                   new_new = ordered_sum(partial + 3, gridDim.x, 5),
                   old_old = ordered_sum(partial + 4, gridDim.x, 5);
      LayerState& state = w.state[blockIdx.y];
      state.tau = tau, state.c = c, state.a = a;
      state.gradient_cosine = control.t > 1 ? cosine(old_new, new_new, old_old) : nan("");
      if (scaled) count_tau(state.tau_counts, tau, c, w.tau_min);
      w.log[(i64)control.index * w.k.layer_count + blockIdx.y] = {
          state.changed != 0, state.rho_left, state.rho_right, state.gamma, state.gradient_cosine};
      if (blockIdx.y == 0) w.step_losses[control.index] = control.loss;
    }
  }
  __syncthreads();
  const double scale = shared_scale;
  double largest = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    double u = w.inner_update == InnerUpdate::momentum
                   ? w.e.m[i] / rule.correction1
                   : adam_element(w.e.m[i], w.e.v[i], rule.correction1, rule.correction2, rule.epsilon);
    if (fabs(u) > largest) largest = fabs(u);
    u *= scale;
    w.e.U_rotated[i] = u;
    if (!layer.has_basis) w.e.U[i] = u;
    w.S_rotated[i] = -control.rate * u;
  }
  largest = block_max(largest);
  if (threadIdx.x == 0) w.entry_partials[(i64)blockIdx.y * gridDim.x + blockIdx.x] = largest;
}

// Smallest and largest entry of the diagonal of every factor.
extern "C" __global__ void __launch_bounds__(256)
    eigenvalue_ranges(const __grid_constant__ KroneckerKernelArgs w) {
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

}  // namespace lather::optim
