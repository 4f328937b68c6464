#pragma once
// Purifying Shampoo.

#include "lather/optim/cuda/kernels/bases.cuh"
#include "lather/optim/formulas/adam.hpp"

namespace lather::optim {

// `result` = A, the bias-corrected factor plus epsilon on the diagonal.
extern "C" __global__ void __launch_bounds__(256) purify_factors(const __grid_constant__ PurifyKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  const StepKernelArgs& p = w.e.s;
  const double correction = w.e.correct_bias ? p.control->correction2 : 1;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256)
    s.result[i] = s.factor[i] / correction + (i / s.d == i % s.d ? p.epsilon : 0);
}

// Squares off the diagonal of `product` and on it.
extern "C" __global__ void __launch_bounds__(256) purify_squares(const __grid_constant__ PurifyKernelArgs w) {
  const DeviceSide s = w.k.sides[blockIdx.y];
  double off = 0, on = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < (i64)s.d * s.d; i += (i64)gridDim.x * 256) {
    const double b = s.product[i];
    if (i / s.d == i % s.d)
      on += b * b;
    else
      off += b * b;
  }
  put_squares(w.k, off, on);
}

extern "C" __global__ void __launch_bounds__(256) purify_check(const __grid_constant__ PurifyKernelArgs w) {
  Control& c = *w.e.s.control;
  if (c.halt) return;
  __shared__ int wanted;
  if (threadIdx.x == 0) wanted = 0;
  __syncthreads();
  for (int s = threadIdx.x; s < w.k.side_count; s += 256) {
    double off, norm;
    off_diagonal(w.k, s, &off, &norm);
    const int replace = w.always || !(off <= w.tolerance * norm);
    w.k.changed[s] = replace;
    if (replace) wanted = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0 && wanted) c.halt = kBasisWanted;
}

extern "C" __global__ void __launch_bounds__(256) purify_resume(const __grid_constant__ PurifyKernelArgs w) {
  Control& c = *w.e.s.control;
  if (threadIdx.x != 0) return;
  for (int l = 0; l < w.k.layer_count; ++l) c.basis_updates += replaced(w.k, w.k.layers[l]);
  c.halt = kRunning;
}

// Corrected eigenvalues from the rotated gradient, momentum in parameter space.
extern "C" __global__ void __launch_bounds__(256) purify_moments(const __grid_constant__ PurifyKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double g = s.gradient[i], G = layer.has_basis ? w.e.rotated[i] : g;
    w.e.v[i] = second_moment(s.beta2, weight_of_new(s.beta2), w.e.v[i], G);
    w.e.m[i] = first_moment(s.beta1, w.e.m[i], g);
  }
}

// `rotated` holds the momentum in the basis.
extern "C" __global__ void __launch_bounds__(256)
    purify_direction(const __grid_constant__ PurifyKernelArgs w) {
  const StepKernelArgs& s = w.e.s;
  if (s.control->halt) return;
  const DeviceLayer layer = w.k.layers[blockIdx.y];
  const double correction1 = w.e.correct_bias ? s.control->correction1 : 1;
  const double correction2 = w.e.correct_bias ? s.control->correction2 : 1;
  for (i64 k = (i64)blockIdx.x * 256 + threadIdx.x; k < (i64)layer.rows * layer.cols;
       k += (i64)gridDim.x * 256) {
    const i64 i = layer.offset + k;
    const double m = layer.has_basis ? w.e.rotated[i] : w.e.m[i];
    const double u = adam_element(m, w.e.v[i], correction1, correction2, s.epsilon);
    w.e.U_rotated[i] = u;
    if (!layer.has_basis) w.e.U[i] = u;
  }
}

}  // namespace lather::optim
