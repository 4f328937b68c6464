#pragma once
// The first half of compile(): expressions become straight-line code over numbered values, with common
// factors multiplied once and products fused into sums.

#include <span>
#include <vector>

#include "lather/symbolic/expression.hpp"
#include "lather/symbolic/program.hpp"

namespace lather::symbolic {

using VirtualValue = int;  // -1: none

struct VirtualInstruction {
  Opcode op;
  VirtualValue result, a, b, c;
};

struct LoweredCode {
  std::vector<VirtualInstruction> code;
  std::vector<VirtualValue> results;  // of the outputs
  std::vector<double> constants;
  std::vector<Operand> place;  // of each value; registers are all different
};

LoweredCode lower(std::span<const Expr> outputs, std::span<const Expr> inputs);

}  // namespace lather::symbolic
