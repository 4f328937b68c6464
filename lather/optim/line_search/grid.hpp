#pragma once
// The line search of the natural-gradient papers: the best of the steps 1, 1/2, 1/4, …, 2^-halvings.

#include "lather/optim/optimizer.hpp"

namespace lather::optim {

// eta with the lowest value of f(x + eta d); 0 if none is below `value`, the value at x. Adds to
// report.evaluations.
double grid_search(Objective& objective, std::span<const double> x, std::span<const double> d, double value,
                   std::int64_t halvings, StepReport& report);

// The status after a search that found nothing; `why` gives the possible cause.
void say_stalled(std::int64_t halvings, std::string_view why, StepReport& report);

}  // namespace lather::optim
