#pragma once
// What rounding makes of r^T r where r is nearly zero.

#include <span>
#include <vector>

#include "lather/optim/objective.hpp"

namespace lather::optim {

// r^T r to twice the working precision, rounded once.
double compensated_squares(std::span<const double> r);

// Values below this are compared as compensated squares: there a step may gain no more than sums of different
// order differ by.
inline bool is_near_rounding(double value) { return value < 1e-20; }

// The values at several x, one after another in memory; compensated squares if asked for.
void trial_values(Objective& objective, std::span<const double> xs, bool compensated,
                  std::span<double> values);

// By how much the value at x is uncertain: with e the change of r when every parameter goes to the next
// number, 2 |(r_i e_i)| + |e|^2.
double rounding_of_value(Objective& objective, std::span<const double> x);

}  // namespace lather::optim
