#pragma once
// What rounding makes of r^T r where r is nearly zero.

#include <span>
#include <vector>

#include "lather/optim/objective.hpp"

namespace lather::optim {

// r^T r to twice the working precision, rounded once.
double compensated_squares(std::span<const double> r);

// By how much the value at x is uncertain: with e the change of r when every parameter goes to the next
// number, 2 |(r_i e_i)| + |e|^2.
double rounding_of_value(Objective& objective, std::span<const double> x);

}  // namespace lather::optim
