#pragma once
// MultiAdam, notation of optim/first_order/multiadam.cpp.

#include "lather/optim/cuda/kernels/arguments.cuh"
#include "lather/optim/cuda/kernels/reductions.cuh"
#include "lather/optim/formulas/adam.hpp"

namespace lather::optim {

extern "C" __global__ void __launch_bounds__(256)
    multiadam_gradient(const __grid_constant__ MultiAdamKernelArgs w) {
  const i64 n = w.s.size;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < n; i += (i64)gridDim.x * 256) {
    double sum = 0;
    for (int k = 0; k < w.groups; ++k) sum += w.group_gradients[k * n + i];
    w.gradient[i] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    multiadam_descend(const __grid_constant__ MultiAdamKernelArgs w) {
  const StepKernelArgs& s = w.s;
  const Control& c = *s.control;
  if (c.halt) return;
  double squares = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < s.size; i += (i64)gridDim.x * 256) {
    double change = 0;
    for (int group = 0; group < w.groups; ++group) {
      const i64 k = group * s.size + i;
      const double g = w.group_gradients[k] + s.weight_decay * s.x[i];
      const double m = first_moment(s.beta1, w.m[k], g),
                   v = second_moment(s.beta2, weight_of_new(s.beta2), w.v[k], g);
      w.m[k] = m, w.v[k] = v;
      const double u = adam_element(m, v, c.correction1, c.correction2, s.epsilon);
      change -= c.rate * w.group_weights[group] * u;
    }
    s.change[i] = change;
    squares += change * change;
  }
  squares = block_sum(squares);
  if (threadIdx.x == 0) s.change_norms[blockIdx.x] = squares;
}

}  // namespace lather::optim
