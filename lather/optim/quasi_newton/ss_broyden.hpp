#pragma once
// Self-scaled Broyden methods: Al-Baali & Khalfan (2005) as used for PINNs by Urbán, Stefanou & Pons (2025),
// variants 1, 2 (the one meant by "SS-Broyden") and 3, and by Kiyani et al. (2025).

#include <cstdint>

#include "lather/optim/quasi_newton/dense_quasi_newton.hpp"

namespace lather::optim {

struct SsBroydenOptions : DenseQuasiNewtonOptions {
  std::int64_t variant = 2;
  void fields(FieldVisitor& v) {
    v.integer("variant", variant, "how theta is chosen: 1 nearest SR1, 2 nearest (1-b)/b, 3 the lower bound",
              between(1, 3));
    DenseQuasiNewtonOptions::fields(v);
  }
};

Scaling ss_broyden_scaling(std::int64_t variant, const Curvature& curvature);

class SsBroyden final : public DenseQuasiNewton {
 public:
  SsBroyden(const ParameterLayout& layout, const SsBroydenOptions& options, Device device = Device::cpu);
};

}  // namespace lather::optim
