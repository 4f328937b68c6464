#include "lather/optim/quasi_newton/bfgs.hpp"

namespace lather::optim {

Scaling bfgs_scaling(const Curvature&) { return {.tau = 1, .phi = 1}; }

Bfgs::Bfgs(const ParameterLayout& layout, const BfgsOptions& options)
    : DenseQuasiNewton("bfgs", layout, options, bfgs_scaling) {}

}  // namespace lather::optim
