#include "lather/symbolic/emit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace lather::symbolic {

std::string_view emit_functions() {
  return R"(
LATHER_FUNCTION Real sign_of(Real x) { return x > 0 ? Real(1) : x < 0 ? Real(-1) : x; }
LATHER_FUNCTION Real step_of(Real x) { return x >= 0 ? Real(1) : Real(0); }
LATHER_FUNCTION Real lesser(Real a, Real b) { return b < a ? b : a; }
LATHER_FUNCTION Real greater(Real a, Real b) { return a < b ? b : a; }
LATHER_FUNCTION Real gate_of(Real a, Real b) { return a != 0 ? b : Real(0); }
LATHER_FUNCTION Real sigmoid(Real x) {
  const Real e = exp(-fabs(x));
  return (x >= 0 ? Real(1) : e) / (Real(1) + e);
}
LATHER_FUNCTION Real softplus(Real x) { return (x > 0 ? x : Real(0)) + log1p(exp(-fabs(x))); }
)";
}

namespace {

constexpr std::string_view kMark = "BESIDE_TEXT(";

bool is_small_integer(double value) { return std::abs(value) <= 2 && value == std::trunc(value); }

}  // namespace

std::string emit_number(double value, Numbers numbers) {
  if (std::isnan(value)) return "Real(0.0 / 0.0)";
  if (std::isinf(value)) return value > 0 ? "Real(1.0 / 0.0)" : "Real(-1.0 / 0.0)";
  const bool marked = numbers == Numbers::beside_text && !is_small_integer(value);
  return fmt::format("{}{:#.17g})", marked ? kMark : "Real(", value);
}

std::vector<double> take_numbers(std::string& text, std::string_view array, std::size_t most) {
  std::vector<double> numbers;
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, done)) {
    const std::size_t begin = at + kMark.size(), end = text.find(')', begin);
    result.append(text, done, at - done);
    const std::string number = text.substr(begin, end - begin);
    if (numbers.size() < most) {
      result += fmt::format("{}[{}]", array, numbers.size());
      numbers.push_back(std::strtod(number.c_str(), nullptr));
    } else {
      result += fmt::format("Real({})", number);
    }
    done = end + 1;
  }
  text = result.append(text, done);
  return numbers;
}

namespace {

std::string expression(Opcode op, const std::string& a, const std::string& b, const std::string& c) {
  const auto call = [&](std::string_view function) { return fmt::format("{}({})", function, a); };
  switch (op) {
    case Opcode::copy: return a;
    case Opcode::add: return fmt::format("{} + {}", a, b);
    case Opcode::sub: return fmt::format("{} - {}", a, b);
    case Opcode::mul: return fmt::format("{} * {}", a, b);
    case Opcode::div: return fmt::format("{} / {}", a, b);
    case Opcode::multiply_add: return fmt::format("fma({}, {}, {})", a, b, c);
    case Opcode::multiply_subtract: return fmt::format("fma({}, {}, -({}))", a, b, c);
    case Opcode::subtract_product: return fmt::format("fma(-({}), {}, {})", a, b, c);
    case Opcode::min: return fmt::format("lesser({}, {})", a, b);
    case Opcode::max: return fmt::format("greater({}, {})", a, b);
    case Opcode::atan2: return fmt::format("atan2({}, {})", a, b);
    case Opcode::gate: return fmt::format("gate_of({}, {})", a, b);
    case Opcode::power: return fmt::format("pow({}, {})", a, b);
    case Opcode::abs: return call("fabs");
    case Opcode::sign: return call("sign_of");
    case Opcode::step: return call("step_of");
    default: return call(opcode_name(op));  // sqrt, exp, …: same name as in the library
  }
}

}  // namespace

std::string emit(const Program& program, std::span<const std::string> inputs,
                 std::span<const std::string> outputs, std::string_view scratch, std::string_view indent,
                 Numbers numbers) {
  const auto name = [&](const Operand& o) -> std::string {
    switch (o.place) {
      case Operand::Place::input: return inputs[o.index];
      case Operand::Place::output: return outputs[o.index];
      case Operand::Place::constant: return emit_number(program.constants[o.index], numbers);
      case Operand::Place::reg: return fmt::format("{}{}", scratch, o.index);
      default: return "";
    }
  };
  std::string text;
  for (int r = 0; r < program.registers; ++r)
    text += fmt::format("{}{}{}{}", r == 0 ? fmt::format("{}Real ", indent) : ", ", scratch, r,
                        r + 1 == program.registers ? ";\n" : "");
  for (const auto& i : program.code)
    text += fmt::format("{}{} = {};\n", indent, name(i.result),
                        expression(i.op, name(i.a), name(i.b), name(i.c)));
  return text;
}

}  // namespace lather::symbolic
