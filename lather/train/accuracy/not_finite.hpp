#pragma once
// Why a loss or its gradient is not a number.

#include <span>
#include <string>

#include "lather/pde/objective.hpp"

namespace lather::train {

// In words: the first term with a residual that is not finite, and
// where; or with such a loss or gradient. Empty if all are finite.
std::string describe_not_finite(pde::PinnObjective& objective, std::span<const double> x);

}  // namespace lather::train
