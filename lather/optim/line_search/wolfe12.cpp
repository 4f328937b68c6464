#include "lather/optim/line_search/wolfe12.hpp"

#include <algorithm>

#include "lather/optim/line_search/armijo.hpp"
#include "lather/optim/line_search/more_thuente.hpp"
#include "lather/optim/line_search/zoom.hpp"

namespace lather::optim {
namespace {

double first_step(const LinePoint& start, double f_before) {
  const double t = 1.01 * 2 * (start.f - f_before) / start.slope;
  return t > 0 ? std::min(1.0, t) : 1.0;
}

}  // namespace

LineSearchResult wolfe12(Ray& ray, const LinePoint& start, double f_before, const Wolfe12Options& options) {
  const double first = first_step(start, f_before);
  auto result = more_thuente(ray, start, first, {.wolfe = options.wolfe});
  if (!result.success) result = bracket_and_zoom(ray, start, first, {.wolfe = options.wolfe});
  if (!result.success && options.backtrack)
    result = armijo(ray, start, {.first = 1.0, .c1 = options.wolfe.c1});
  return result;
}

}  // namespace lather::optim
