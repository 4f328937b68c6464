#include "lather/optim/line_search/armijo.hpp"

namespace lather::optim {

LineSearchResult armijo(Ray& ray, const LinePoint& start, const ArmijoOptions& options) {
  double t = options.first;
  for (int i = 0; i < options.max_iterations; ++i, t *= options.shrink) {
    LinePoint point = ray.at(t);
    // Strictly lower as well: at rounding level start.f + c1 t slope equals start.f.
    if (point.finite() && point.f <= start.f + options.c1 * t * start.slope && point.f < start.f)
      return {true, std::move(point), ""};
  }
  return {false, start, "no step along the search direction lowers the loss"};
}

}  // namespace lather::optim
