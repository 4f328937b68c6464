#pragma once
// Shampoo, notation of optim/kronecker/shampoo.cpp; `basis` holds the inverse roots.

#include "lather/optim/cuda/kernels/kronecker.cuh"
#include "lather/optim/formulas/adam.hpp"
#include "lather/optim/formulas/shampoo.hpp"

namespace lather::optim {

// `product` = the bias-corrected factor plus epsilon on the diagonal. In a step that has no effect the
// factors may be anything, so the eigensolver gets the identity.
extern "C" __global__ void __launch_bounds__(256)
    shampoo_factors(const __grid_constant__ ShampooKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const Control& c = *w.e.s.control;
  const double correction = w.e.correct_bias ? bias_correction(w.factor_beta, (double)c.t) : 1;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256) {
    const bool diagonal = i / s.d == i % s.d;
    s.product[i] = c.halt ? (diagonal ? 1 : 0) : s.factor[i] / correction + (diagonal ? w.epsilon : 0);
  }
}

// Rows of `product` are eigenvectors; multiplies each by its eigenvalue to the power -1/(2 r), r the root.
extern "C" __global__ void __launch_bounds__(256) shampoo_scale(const __grid_constant__ ShampooKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const DeviceLayer layer = w.k.layers[s.layer];
  const double root = shampoo_root(layer.rows, layer.cols);
  const double smallest = s.d == 1 ? s.product[0] : s.values[0];
  const double shift = eigenvalue_shift(smallest, w.epsilon);
  for (int row = blockIdx.x; row < s.d; row += gridDim.x) {
    const double power = half_inverse_root((s.d == 1 ? smallest : s.values[row]) + shift, root);
    __syncthreads();
    for (int j = threadIdx.x; j < s.d; j += 256)
      s.product[(i64)row * s.d + j] = s.d == 1 ? power : power * s.product[(i64)row * s.d + j];
  }
}

// `result` holds the new inverse roots.
extern "C" __global__ void __launch_bounds__(256)
    shampoo_install(const __grid_constant__ ShampooKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  if (w.e.s.control->halt || (s.d > 1 && w.k.info[s.slot] != 0)) return;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256)
    s.basis[i] = s.result[i];
}

// Moments, M^ into `rotated`, the grafted direction P_g into U, and its squares.
extern "C" __global__ void __launch_bounds__(256)
    shampoo_moments(const __grid_constant__ ShampooKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  const Control& c = *s.control;
  if (c.halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const double correction1 = w.e.correct_bias ? c.correction1 : 1;
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = s.gradient[i];
    const double m = first_moment(s.beta1, w.e.m[i], g),
                 v = second_moment(s.beta2, weight_of_new(s.beta2), w.e.v[i], g);
    w.e.m[i] = m, w.e.v[i] = v;
    const double u = adam_element(m, v, correction1, c.correction2, s.epsilon);
    w.e.rotated[i] = m / correction1;
    w.e.U[i] = u;
    sum += u * u;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) w.partials[2 * (blockIdx.y * gridDim.x + blockIdx.x)] = sum;
}

// P_s = L^(-1/4) M^ R^(-1/4) and its squares; `U_rotated` already has the roots of sides longer than 1.
extern "C" __global__ void __launch_bounds__(256)
    shampoo_precondition(const __grid_constant__ ShampooKernelArgs w) {
  if (w.e.s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  double factor = 1;
  if (layer.left >= 0 && layer.rows == 1) factor *= w.k.sides[layer.left].basis[0];
  if (layer.right >= 0 && layer.cols == 1) factor *= w.k.sides[layer.right].basis[0];
  double sum = 0;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double p = factor * (layer.has_basis ? w.e.U_rotated[i] : w.e.rotated[i]);
    w.e.U_rotated[i] = p;
    sum += p * p;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) w.partials[2 * (blockIdx.y * gridDim.x + blockIdx.x) + 1] = sum;
}

// U = P_s, scaled to the length of P_g if that is grafted.
extern "C" __global__ void __launch_bounds__(256) shampoo_graft(const __grid_constant__ ShampooKernelArgs w) {
  if (w.e.s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const double* partials = w.partials + 2 * blockIdx.y * gridDim.x;
  double scale = 1;
  if (w.grafted)
    scale = grafting_scale(sqrt(ordered_sum(partials, gridDim.x, 2)),
                           sqrt(ordered_sum(partials + 1, gridDim.x, 2)));
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256)
    w.e.U[layer.offset + k] = scale * w.e.U_rotated[layer.offset + k];
}

}  // namespace lather::optim
