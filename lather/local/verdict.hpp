#pragma once
// Whether a result is a solution, in a sentence.

#include "lather/local/solver.hpp"

namespace lather::local {

struct Evidence {
  double tolerance = 0;
  Round best;       // the round that the result comes from
  double gain = 0;  // by how much the last halving lowered what is left over, where most is left
};
// Fills in verdict and message.
void conclude(Result& result, const pde::Problem& problem, const Evidence& evidence);

}  // namespace lather::local
