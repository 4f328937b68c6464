#pragma once
// Nocedal & Wright, "Numerical Optimization", Alg. 3.5 (bracketing by doubling) and 3.6 (zoom), with the
// interpolation safeguards of SciPy's line_search_wolfe2.

#include "lather/optim/line_search/line_search.hpp"

namespace lather::optim {

struct ZoomOptions {
  WolfeConditions wolfe;
  int max_doublings = 10;
  int max_zooms = 10;
};

LineSearchResult bracket_and_zoom(Ray& ray, const LinePoint& start, double first, const ZoomOptions& options);

}  // namespace lather::optim
