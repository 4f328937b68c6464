#include "lather/symbolic/program.hpp"

#include <fmt/format.h>

#include "lather/symbolic/lowering.hpp"
#include "lather/symbolic/register_assignment.hpp"

namespace lather::symbolic {

namespace {

// clang-format off
constexpr std::string_view kOpcodeNames[] = {
    "copy", "add", "sub", "mul", "div", "multiply_add", "multiply_subtract", "subtract_product", "sqrt",
    "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "atan", "erf", "abs", "sign",
    "step", "sigmoid", "softplus", "min", "max", "atan2", "gate", "power"};
// clang-format on

}  // namespace

std::string_view opcode_name(Opcode op) { return kOpcodeNames[static_cast<int>(op)]; }

int operand_count(Opcode op) {
  switch (op) {
    case Opcode::multiply_add:
    case Opcode::multiply_subtract:
    case Opcode::subtract_product: return 3;
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul:
    case Opcode::div:
    case Opcode::min:
    case Opcode::max:
    case Opcode::atan2:
    case Opcode::gate:
    case Opcode::power: return 2;
    default: return 1;
  }
}

Program compile(std::span<const Expr> outputs, std::span<const Expr> inputs) {
  return assign_registers(lower(outputs, inputs), static_cast<int>(inputs.size()));
}

std::string Program::str() const {
  const auto name = [this](const Operand& o) -> std::string {
    switch (o.place) {
      case Operand::Place::input: return fmt::format("in{}", o.index);
      case Operand::Place::output: return fmt::format("out{}", o.index);
      case Operand::Place::constant: return fmt::format("{}", constants[o.index]);
      case Operand::Place::reg: return fmt::format("r{}", o.index);
      default: return "";
    }
  };
  std::string text;
  for (const auto& i : code) {
    text += fmt::format("{} = {} {}", name(i.result), opcode_name(i.op), name(i.a));
    if (operand_count(i.op) > 1) text += " " + name(i.b);
    if (operand_count(i.op) > 2) text += " " + name(i.c);
    text += "\n";
  }
  return text;
}

}  // namespace lather::symbolic
