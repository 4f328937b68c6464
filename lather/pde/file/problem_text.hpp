#pragma once
// A problem in words, for people: what `lather check` prints.

#include <string>

#include "lather/pde/problem.hpp"

namespace lather::pde {

// An expression with derivatives of outputs written as u_x; very long ones are described by their size
// instead.
std::string written_out(const Problem& problem, symbolic::Expr e);

// Derivatives of each output that the residuals contain, such as "u, u_x, u_xx, u_t".
std::string derivatives_needed(const Problem& problem, int output);

std::string describe(const Problem& problem);

}  // namespace lather::pde
