#pragma once
// The damping at which a step is exactly as long as allowed: the root of the secular equation |d(lambda)| =
// radius for (J^T J + lambda D) d = -J^T r. Newton's method on 1/|d| - 1/radius (Hebden; Moré & Sorensen
// 1983), which is nearly linear in lambda where |d| has poles. Every lambda costs a factorization, so few
// should be tried: Newton's next one is taken if it lies between those known to be too small and too large
// and the last one halved the distance, in orders of magnitude, to the radius. Otherwise the next is their
// geometric mean, or ten times or a tenth of the last where only one of the two is known.

#include <cmath>
#include <limits>
#include <optional>

namespace lather::optim {

struct StepLength {
  double length = std::numeric_limits<double>::infinity();  // |d|; infinite: lambda is too small for any step
  double shrinkage = 0;                                     // -d|d| / d lambda
};

struct SecularOptions {
  double tolerance = 0.1;  // of the length, relative to the radius
  int tries = 20;
};

// The lambda, starting from a guess. `at(lambda)` gives the length of its step and is last called with the
// lambda returned. Empty: not found.
template <class At>
std::optional<double> solve_secular(At&& at, double lambda, double radius,
                                    const SecularOptions& options = {}) {
  double too_small = 0, too_large = std::numeric_limits<double>::infinity();
  double last_excess = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < options.tries && std::isfinite(lambda); ++attempt) {
    const StepLength step = at(lambda);
    if (std::abs(step.length - radius) <= options.tolerance * radius) return lambda;
    (step.length > radius ? too_small : too_large) = lambda;
    const double excess = std::abs(std::log(step.length / radius));
    const bool creeps = !(excess < 0.5 * last_excess);
    last_excess = excess;
    const double next = lambda + step.length * (step.length - radius) / (radius * step.shrinkage);
    if (!creeps && next > too_small && next < too_large)
      lambda = next;
    else if (std::isfinite(too_large))
      lambda = too_small > 0 ? std::sqrt(too_small * too_large) : lambda / 10;
    else
      lambda *= 10;
  }
  return std::nullopt;
}

}  // namespace lather::optim
