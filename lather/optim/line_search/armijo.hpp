#pragma once
// Armijo backtracking: halve until the value has gone down enough. NaN and infinity count as "not enough".

#include "lather/optim/line_search/line_search.hpp"

namespace lather::optim {

struct ArmijoOptions {
  double first = 1;
  double c1 = 1e-4;
  double shrink = 0.5;
  int max_iterations = 60;
};

LineSearchResult armijo(Ray& ray, const LinePoint& start, const ArmijoOptions& options);

}  // namespace lather::optim
