#include "lather/optim/quasi_newton/ss_bfgs.hpp"

#include <algorithm>

namespace lather::optim {

Scaling ss_bfgs_scaling(SelfScaling scaling, const Curvature& curvature) {
  const double b = curvature.b;
  if (scaling == SelfScaling::oren_luenberger) return {.tau = 1 / b, .phi = 1};
  return {.tau = std::min(1.0, 1 / b), .phi = 1};
}

SsBfgs::SsBfgs(const ParameterLayout& layout, const SsBfgsOptions& options, Device device)
    : DenseQuasiNewton(
          "ss-bfgs", layout, options,
          [scaling = options.scaling](const Curvature& c) { return ss_bfgs_scaling(scaling, c); }, device) {}

}  // namespace lather::optim
