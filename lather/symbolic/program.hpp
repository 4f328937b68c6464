#pragma once
// A pointwise program: straight-line code over arrays, compiled from expressions with common parts computed
// once. Executors (a vector machine on the CPU, generated kernels on CUDA) run the same program.

#include <cstdint>
#include <string>
#include <vector>

#include "lather/symbolic/expression.hpp"

namespace lather::symbolic {

enum class Opcode : std::uint8_t {
  copy,
  add,
  sub,
  mul,
  div,
  multiply_add,       // a * b + c
  multiply_subtract,  // a * b - c
  subtract_product,   // c - a * b
  sqrt,
  exp,
  log,
  sin,
  cos,
  tan,
  sinh,
  cosh,
  tanh,
  asinh,
  atan,
  erf,
  abs,
  sign,
  step,
  sigmoid,
  softplus,
  min,
  max,
  atan2,
  gate,  // b where a is not 0, else 0
  power,
};
std::string_view opcode_name(Opcode op);
int operand_count(Opcode op);

// Where a value is stored. Inputs and outputs are arrays (or, for
// scalar inputs, one number); registers are scratch.
struct Operand {
  enum class Place : std::uint8_t { none, input, output, constant, reg } place = Place::none;
  std::uint16_t index = 0;
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Instruction {
  Opcode op;
  Operand result, a, b, c;
};

struct Program {
  int inputs = 0, outputs = 0, registers = 0;
  std::vector<double> constants;
  std::vector<Instruction> code;
  std::string str() const;  // one instruction per line, for reading
};

// out[j] = outputs[j](inputs). Every symbol of `outputs` must be among `inputs`. An output array may be the
// same memory as an input array if that input is used for nothing but that output's own element.
Program compile(std::span<const Expr> outputs, std::span<const Expr> inputs);

}  // namespace lather::symbolic
