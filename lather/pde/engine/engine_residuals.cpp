#include "lather/pde/engine/engine_residuals.hpp"

#include <algorithm>

#include "lather/pde/engine/residual_weights.hpp"

namespace lather::pde {

std::size_t EngineResiduals::residual_count() const {
  std::size_t count = 0;
  for (const auto& term : engine_.problem.terms) count += engine_.residuals_of(term.point_set);
  return count;
}

void EngineResiduals::residuals_at(std::span<const double> xs, std::span<double> r) {
  const auto& terms = engine_.problem.terms;
  const std::size_t trials = xs.size() / size();
  optim::require_size("xs", xs.size(), trials * size());
  optim::require_size("r", r.size(), trials * residual_count());
  std::vector<double*> parts;
  double* next = r.data();
  for (std::size_t trial = 0; trial < trials; ++trial)
    for (const auto& term : terms) {
      parts.push_back(next);
      next += engine_.residuals_of(term.point_set);
    }
  for (std::size_t first = 0; first < trials; first += Engine::kMostTrials) {
    const std::size_t count = std::min(trials - first, Engine::kMostTrials);
    engine_.residuals(xs.subspan(first * size(), count * size()),
                      std::span(parts).subspan(first * terms.size(), count * terms.size()));
  }
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const auto scales = root_weights(engine_, static_cast<int>(k));
    for (std::size_t part = k; part < parts.size(); part += terms.size())
      for (std::size_t i = 0; i < scales.size(); ++i) parts[part][i] *= scales[i];
  }
}

void EngineResiduals::residual_scales(std::span<double> scales) const {
  optim::require_size("scales", scales.size(), residual_count());
  double* next = scales.data();
  for (std::size_t k = 0; k < engine_.problem.terms.size(); ++k) {
    const auto roots = root_weights(engine_, static_cast<int>(k));
    next = std::copy(roots.begin(), roots.end(), next);
  }
}

}  // namespace lather::pde
