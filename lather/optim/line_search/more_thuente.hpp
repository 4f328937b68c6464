#pragma once
// Moré & Thuente, "Line search algorithms with guaranteed sufficient decrease" (1994), with the constants of
// MINPACK-2's dcsrch as SciPy calls it.

#include "lather/optim/line_search/line_search.hpp"

namespace lather::optim {

struct MoreThuenteOptions {
  WolfeConditions wolfe;
  double interval_tolerance = 1e-14;  // relative width of the interval of uncertainty at which to give up
  double t_min = 1e-100, t_max = 1e100;
  int max_iterations = 100;
};

LineSearchResult more_thuente(Ray& ray, const LinePoint& start, double first,
                              const MoreThuenteOptions& options);

}  // namespace lather::optim
