#pragma once
// Self-scaled BFGS: H is divided by tau before every BFGS update (Oren & Luenberger 1974; Al-Baali 1998; for
// PINNs: Urbán, Stefanou & Pons 2025).

#include "lather/optim/quasi_newton/dense_quasi_newton.hpp"

namespace lather::optim {

enum class SelfScaling { al_baali, oren_luenberger };

struct SsBfgsOptions : DenseQuasiNewtonOptions {
  SelfScaling scaling = SelfScaling::al_baali;
  void fields(FieldVisitor& v) {
    v.choice("scaling", scaling, "ab: tau = min(1, 1/b) (Al-Baali); ol: tau = 1/b (Oren-Luenberger)",
             {{"ab", SelfScaling::al_baali}, {"ol", SelfScaling::oren_luenberger}});
    DenseQuasiNewtonOptions::fields(v);
  }
};

Scaling ss_bfgs_scaling(SelfScaling scaling, const Curvature& curvature);

class SsBfgs final : public DenseQuasiNewton {
 public:
  SsBfgs(const ParameterLayout& layout, const SsBfgsOptions& options, Device device = Device::cpu);
};

}  // namespace lather::optim
