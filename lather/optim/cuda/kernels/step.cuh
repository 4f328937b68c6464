#pragma once
// The kernels of every step, in this order; Adam is a step with nothing between begin_step and descend:
//   gradient_norms   |g|^2, in parts
//   clip_gradient    if asked for
//   begin_step       t <- t + 1, learning rate, bias corrections; halts if loss or gradient is not finite
//   descend          change = -rate (u + decay w), u by the method for layers and by Adam for the rest
//   apply_change     w <- w + change

#include "lather/optim/cuda/kernels/arguments.cuh"
#include "lather/optim/cuda/kernels/reductions.cuh"
#include "lather/optim/formulas/adam.hpp"
#include "lather/optim/formulas/clipping.hpp"

namespace lather::optim {
extern "C" __global__ void __launch_bounds__(256) gradient_norms(const __grid_constant__ StepKernelArgs w) {
  double sum = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < w.size; i += (i64)gridDim.x * 256)
    sum += w.gradient[i] * w.gradient[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) w.gradient_norms[blockIdx.x] = sum;
}

// After gradient_norms. Non-finite values are let through: the step will find them.
extern "C" __global__ void __launch_bounds__(256) clip_gradient(const __grid_constant__ ClipKernelArgs w) {
  double sum = 0;
  for (int i = threadIdx.x; i < w.s.gradient_blocks; i += 256) sum += w.s.gradient_norms[i];
  const double norm = sqrt(block_sum(sum));
  if (!is_finite(norm)) return;
  const double factor = clipping_factor(norm, w.limit);
  if (!w.by_value && factor == 1) return;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < w.s.size; i += (i64)gridDim.x * 256) {
    const double g = w.gradient[i];
    w.gradient[i] = w.by_value ? clipped_value(g, w.limit) : g * factor;
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
  if (c.points_changed) c.secant_valid = 0;  // gradients of two functions: no meaningful difference
  c.t += 1;
  c.rate = w.learning_rate * w.factors[c.index];
  c.correction1 = bias_correction(w.beta1, (double)c.t);
  c.correction2 = bias_correction(w.beta2, (double)c.t);
}

// W <- W + change, unless the change is not finite.
extern "C" __global__ void __launch_bounds__(256) apply_change(const __grid_constant__ StepKernelArgs w) {
  Control& c = *w.control;
  if (c.halt) return;  // perhaps set by block 0 of this very launch: it found the same sum
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

// Adam's moments and change of one element; `decay` applies to the step, not to the gradient.
__device__ __forceinline__ double adam_change(const ElementKernelArgs& w, i64 i, double decay) {
  const StepKernelArgs& s = w.s;
  const Control& c = *s.control;
  const double g =
      w.coupled_decay && s.weight_decay > 0 ? s.gradient[i] + s.weight_decay * s.x[i] : s.gradient[i];
  const double m = first_moment(s.beta1, w.m[i], g),
               v = second_moment(s.beta2, weight_of_new(s.beta2), w.v[i], g);
  w.m[i] = m, w.v[i] = v;
  double divisor = v;
  if (w.largest_v) divisor = w.largest_v[i] = w.largest_v[i] > v ? w.largest_v[i] : v;
  const double u = adam_element(m, divisor, c.correction1, c.correction2, s.epsilon);
  return descent_element(c.rate * w.adam_rate_ratio, decay, s.x[i], u);
}

// Blocks of layers: change = -rate (U + decay W). The rest: Adam.
extern "C" __global__ void __launch_bounds__(256) descend(const __grid_constant__ ElementKernelArgs w) {
  const StepKernelArgs& s = w.s;
  const Control& c = *s.control;
  if (c.halt) return;
  const DeviceBlock b = w.blocks[blockIdx.y];
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < b.size; k += (i64)gridDim.x * 256) {
    const i64 i = b.offset + k;
    double change;
    if (b.layer < 0)
      change = adam_change(w, i, w.coupled_decay ? 0 : s.weight_decay);
    else
      change = descent_element(c.rate, s.weight_decay, s.x[i], w.U[i]);
    s.change[i] = change;
    sum += change * change;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) s.change_norms[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

}  // namespace lather::optim
