#include "lather/optim/quasi_newton/bfgs.hpp"

namespace lather::optim {

Scaling bfgs_scaling(const Curvature&) { return {.tau = 1, .phi = 1}; }

Bfgs::Bfgs(const ParameterLayout& layout, const BfgsOptions& options, Device device)
    : DenseQuasiNewton("bfgs", layout, options, bfgs_scaling, device) {}

}  // namespace lather::optim
