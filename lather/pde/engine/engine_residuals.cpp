#include "lather/pde/engine/engine_residuals.hpp"

#include <algorithm>

#include "lather/pde/engine/residual_weights.hpp"

namespace lather::pde {

std::size_t EngineResiduals::residual_count() const {
  std::size_t count = 0;
  for (const auto& term : engine_.problem.terms) count += engine_.residuals_of(term.point_set);
  return count;
}

void EngineResiduals::residuals(std::span<const double> x, std::span<double> r) {
  std::vector<double*> parts;
  std::size_t offset = 0;
  for (const auto& term : engine_.problem.terms) {
    parts.push_back(r.data() + offset);
    offset += engine_.residuals_of(term.point_set);
  }
  engine_.residuals(x, parts);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto scales = root_weights(engine_, static_cast<int>(k));
    for (std::size_t i = 0; i < scales.size(); ++i) parts[k][i] *= scales[i];
  }
}

void EngineResiduals::residual_scales(std::span<double> scales) const {
  double* next = scales.data();
  for (std::size_t k = 0; k < engine_.problem.terms.size(); ++k) {
    const auto roots = root_weights(engine_, static_cast<int>(k));
    next = std::copy(roots.begin(), roots.end(), next);
  }
}

}  // namespace lather::pde
