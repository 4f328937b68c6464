#pragma once
// Rounding of r^T r when r is nearly zero.

#include <span>
#include <vector>

#include "lather/optim/objective.hpp"

namespace lather::optim {

// r^T r to twice the working precision, rounded once.
double compensated_squares(std::span<const double> r);

// Values below this are compared as compensated squares: there a step may gain no more than the difference
// between two orders of summation.
inline bool is_near_rounding(double value) { return value < 1e-20; }

// The values at several x, stored one after another; compensated squares if requested.
void trial_values(Objective& objective, std::span<const double> xs, bool compensated,
                  std::span<double> values);

// Uncertainty of the value at x: 2 |(r_i e_i)| + |e|^2, with e the change of r when every parameter moves to
// the next floating-point number.
double rounding_of_value(Objective& objective, std::span<const double> x);

}  // namespace lather::optim
