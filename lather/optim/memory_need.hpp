#pragma once
// The memory that an optimizer will take, before anything of it is allocated.

#include <cstddef>

#include "lather/optim/optimizer_spec.hpp"
#include "lather/optim/parameters.hpp"
#include "lather/optim/residuals.hpp"

namespace lather::optim {

struct OptimizerNeed {
  double held = 0;   // state and scratch, at the largest moment of a step
  double saved = 0;  // of it what a checkpoint holds
};

// After `steps` steps, with its wrappers, and with a second optimizer if it has one. `source` says how many parameters and residuals
// there are, what matrices of them take, and what is free; nothing is computed from it. Methods registered by
// a program of its own are taken to hold what Adam does. Throws OutOfMemory if an option asks for a matrix
// that may not be held.
OptimizerNeed memory_need(const OptimizerSpec& spec, const ParameterLayout& layout, std::size_t terms,
                          std::int64_t steps, const Residuals& source);

}  // namespace lather::optim
