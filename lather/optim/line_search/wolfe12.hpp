#pragma once
// The line search of SciPy's BFGS and of the self-scaled methods built on it: Moré–Thuente first, zoom if
// that fails. Not in the reference: if both fail, Armijo backtracking, so that a step is lost only if no
// shorter one goes down.

#include "lather/optim/line_search/line_search.hpp"

namespace lather::optim {

struct Wolfe12Options {
  WolfeConditions wolfe;
  bool backtrack = true;  // Armijo as the last resort
};

// `f_before` is the value one iteration earlier; it sets the length of the first trial step (Nocedal &
// Wright, eq. 3.60).
LineSearchResult wolfe12(Ray& ray, const LinePoint& start, double f_before, const Wolfe12Options& options);

}  // namespace lather::optim
