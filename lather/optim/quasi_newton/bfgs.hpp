#pragma once
// BFGS with a dense inverse Hessian (Nocedal & Wright, Alg. 6.1) and SciPy's line search.

#include "lather/optim/quasi_newton/dense_quasi_newton.hpp"

namespace lather::optim {

struct BfgsOptions : DenseQuasiNewtonOptions {};

Scaling bfgs_scaling(const Curvature&);  // tau = 1, phi = 1

class Bfgs final : public DenseQuasiNewton {
 public:
  Bfgs(const ParameterLayout& layout, const BfgsOptions& options, Device device = Device::cpu);
};

}  // namespace lather::optim
