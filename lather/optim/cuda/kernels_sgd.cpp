// SGD.
#include "lather/optim/cuda/kernels.hpp"

namespace lather::optim {

const char* const kSgdKernels = R"(
extern "C" __global__ void __launch_bounds__(256) sgd_descend(const __grid_constant__ SgdKernelArgs w) {
  const StepKernelArgs& s = w.s;
  const Control& c = *s.control;
  if (c.halt) return;
  const double fresh = c.t == 1 || w.mu == 0 ? 1 : 1 - w.dampening;  // the first momentum is the gradient itself
  double sum = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < s.size; i += (i64)gridDim.x * 256) {
    const double g = s.gradient[i] + s.weight_decay * s.x[i];
    const double m = w.mu * w.momentum[i] + fresh * g;
    const double change = -c.rate * (w.nesterov ? g + w.mu * m : m);
    w.momentum[i] = m;
    s.change[i] = change;
    sum += change * change;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) s.change_norms[blockIdx.x] = sum;
}
)";

}  // namespace lather::optim
