#include "lather/optim/wrappers/clipped.hpp"

#include <algorithm>

#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/formulas/clipping.hpp"

namespace lather::optim {

bool clip_gradient(const ClipOptions& options, std::span<double> gradient) {
  const double size = options.by == Clip::norm ? norm(gradient) : largest_magnitude(gradient);
  if (!(size > options.limit)) return false;
  const double factor = clipping_factor(size, options.limit);
  for (double& g : gradient) g = options.by == Clip::norm ? g * factor : clipped_value(g, options.limit);
  return true;
}

double ClippedObjective::value_and_gradient(std::span<const double> x, std::span<double> gradient) {
  const double f = inner_.value_and_gradient(x, gradient);
  clip_gradient(options_, gradient);
  return f;
}

void ClippedObjective::term_gradients(std::span<const double> x, std::span<double> losses,
                                      std::vector<std::vector<double>>& gradients) {
  inner_.term_gradients(x, losses, gradients);
  for (auto& gradient : gradients) clip_gradient(options_, gradient);
}

}  // namespace lather::optim
