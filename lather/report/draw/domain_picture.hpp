#pragma once
// The domain of a problem with its point sets: `lather check --svg`.

#include "lather/pde/points.hpp"
#include "lather/pde/problem.hpp"

namespace lather::report {

// Draws the first two coordinates. `points`: by point set. Throws Error for problems with one coordinate.
std::string domain_picture(const pde::Problem& problem, const std::vector<pde::Points>& points);

}  // namespace lather::report
