#pragma once
// Points drawn on the device, with the same bits as in pde/sampling/sampling.cpp.
// Number is the precision of the coordinates, defined by the including source.

#include "lather/pde/cuda/kernels/point_arguments.cuh"
#include "lather/pde/formulas/sampling.hpp"

namespace lather::pde {

extern "C" __global__ void __launch_bounds__(256) draw_points(const __grid_constant__ DrawKernelArgs w) {
  const long long step = *w.step + *w.index;
  const bool due = step % w.every == 0;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *w.changed = due;
  if (!due) return;
  const DrawnPart& p = w.parts[blockIdx.y];
  const auto draw = (unsigned long long)(step / w.every);
  const auto stream = with_label(with_label(with_label(with_label(0, 1), p.set), draw), p.index);
  int free = 0;
  for (int k = 0; k < p.dimensions; ++k) free += p.width[k] != 0;
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.count;
       i += (long long)gridDim.x * 256) {
    for (int k = 0, next = 0; k < p.dimensions; ++k) {
      double value = p.low[k];
      if (p.width[k] != 0) {
        double u;
        if (p.design == DrawnDesign::uniform) {
          u = open_unit(random_bits(w.seed, stream, (unsigned long long)i * free + next) >> 12);
        } else if (p.design == DrawnDesign::shifted_sobol) {
          const auto shift = random_bits(w.seed, stream, next) >> 12;
          u = shifted_sobol_unit(sobol_bits(w.directions + 32 * next, (unsigned)i), shift);
        } else {
          u = sobol_unit(sobol_bits(w.directions + 32 * next, (unsigned)(draw * p.count + i)));
        }
        value = fma(p.width[k], u, p.low[k]);
        ++next;
      }
      static_cast<Number*>(p.coordinates)[k * p.points + p.first + i] = (Number)value;
    }
  }
}

}  // namespace lather::pde
