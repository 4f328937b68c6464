#pragma once
// Strong Wolfe by bracketing and cubic interpolation (Nocedal & Wright, Alg. 3.5 and 3.6), with the
// constants, safeguards and order of evaluations of PyTorch's L-BFGS, so that recorded trajectories can be
// replayed.

#include "lather/optim/line_search/line_search.hpp"

namespace lather::optim {

struct StrongWolfeOptions {
  WolfeConditions wolfe;
  double bracket_tolerance = 0;  // stop once the bracket times max |d_i| is shorter than this
  int max_iterations = 25;
};

// The minimizer of the cubic through (x1, f1, slope1) and (x2, f2, slope2), clamped to [low, high]; their
// midpoint if there is none.
double cubic_minimizer(const LinePoint& p1, const LinePoint& p2, double low, double high);

// `start` is the point t = 0; `first` the first trial step. Succeeds if the point returned has a lower
// value than the start or meets the approximate Wolfe conditions; as in PyTorch, the point may miss the
// curvature condition when the iterations run out.
LineSearchResult strong_wolfe(Ray& ray, const LinePoint& start, double first,
                              const StrongWolfeOptions& options);

}  // namespace lather::optim
