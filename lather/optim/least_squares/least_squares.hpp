#pragma once
// How every method on residuals begins and ends.
//
//   r, J    residuals (value = r^T r) and their Jacobian; the gradient of the value is 2 J^T r

#include <span>
#include <string_view>

#include "lather/optim/optimizer.hpp"

namespace lather::optim {

// Throws Error if the objective has no residuals.
void require_residuals(const Objective& objective, std::string_view method);

// Fills loss and gradient norm. False if no step can follow (not finite, or exactly zero); the report then
// says so.
bool may_step(double value, std::span<const double> Jtr, StepReport& report);

// x += eta d
void move(std::span<double> x, double eta, std::span<const double> d, StepReport& report);

// Memory taken by this many doubles.
double gibibytes(double numbers);

}  // namespace lather::optim
