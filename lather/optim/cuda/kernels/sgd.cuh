#pragma once
// SGD.

#include "lather/optim/cuda/kernels/arguments.cuh"
#include "lather/optim/cuda/kernels/reductions.cuh"
#include "lather/optim/formulas/sgd.hpp"

namespace lather::optim {

extern "C" __global__ void __launch_bounds__(256) sgd_descend(const __grid_constant__ SgdKernelArgs w) {
  const StepKernelArgs& s = w.s;
  const Control& c = *s.control;
  if (c.halt) return;
  const double weight = sgd_weight_of_new(c.t, w.mu, w.dampening);
  double sum = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < s.size; i += (i64)gridDim.x * 256) {
    const double g = s.gradient[i] + s.weight_decay * s.x[i];
    const double m = sgd_momentum(w.mu, weight, w.momentum[i], g);
    const double change = -c.rate * sgd_direction(w.nesterov, w.mu, m, g);
    w.momentum[i] = m;
    s.change[i] = change;
    sum += change * change;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) s.change_norms[blockIdx.x] = sum;
}

}  // namespace lather::optim
