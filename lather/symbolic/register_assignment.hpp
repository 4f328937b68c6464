#pragma once
// The second half of compile(): drops instructions whose results are never read, puts results straight into
// the outputs, and lets values that are not needed at the same time share a register.

#include "lather/symbolic/lowering.hpp"
#include "lather/symbolic/program.hpp"

namespace lather::symbolic {

Program assign_registers(LoweredCode lowered, int inputs);

}  // namespace lather::symbolic
