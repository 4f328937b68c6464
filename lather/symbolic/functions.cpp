#include "lather/symbolic/functions.hpp"

#include <array>
#include <numbers>

namespace lather::symbolic {

std::string_view function_name(Kind kind) {
  switch (kind) {
    case Kind::exp: return "exp";
    case Kind::log: return "log";
    case Kind::sin: return "sin";
    case Kind::cos: return "cos";
    case Kind::tan: return "tan";
    case Kind::sinh: return "sinh";
    case Kind::cosh: return "cosh";
    case Kind::tanh: return "tanh";
    case Kind::asinh: return "asinh";
    case Kind::atan: return "atan";
    case Kind::erf: return "erf";
    case Kind::abs: return "abs";
    case Kind::sign: return "sign";
    case Kind::step: return "step";
    case Kind::sigmoid: return "sigmoid";
    case Kind::softplus: return "softplus";
    case Kind::min: return "min";
    case Kind::max: return "max";
    case Kind::atan2: return "atan2";
    case Kind::gate: return "gate";
    case Kind::power: return "pow";
    default: return "";
  }
}

Expr derivative_of_function(Kind kind, Expr x) {
  Graph& g = x.graph();
  const Expr f = g.function(kind, x);
  switch (kind) {
    case Kind::exp: return f;
    case Kind::log: return 1.0 / x;
    case Kind::sin: return cos(x);
    case Kind::cos: return -sin(x);
    case Kind::tan: return 1.0 + pow(f, 2);
    case Kind::sinh: return cosh(x);
    case Kind::cosh: return sinh(x);
    case Kind::tanh: return 1.0 - pow(f, 2);
    case Kind::asinh: return pow(1.0 + pow(x, 2), -0.5);
    case Kind::atan: return 1.0 / (1.0 + pow(x, 2));
    case Kind::erf: return 2 * std::numbers::inv_sqrtpi * exp(-pow(x, 2));
    case Kind::abs: return sign(x);
    case Kind::sigmoid: return f * (1.0 - f);
    case Kind::softplus: return sigmoid(x);
    default: return g.constant(0);  // sign, step: piecewise constant
  }
}

namespace {

constexpr std::array kFunctions = {
    FunctionName{"exp", 1},      FunctionName{"log", 1},   FunctionName{"sqrt", 1},
    FunctionName{"sin", 1},      FunctionName{"cos", 1},   FunctionName{"tan", 1},
    FunctionName{"sinh", 1},     FunctionName{"cosh", 1},  FunctionName{"tanh", 1},
    FunctionName{"asinh", 1},    FunctionName{"atan", 1},  FunctionName{"erf", 1},
    FunctionName{"abs", 1},      FunctionName{"sign", 1},  FunctionName{"step", 1},
    FunctionName{"min", 2},      FunctionName{"max", 2},   FunctionName{"sigmoid", 1},
    FunctionName{"softplus", 1}, FunctionName{"pow", 2},   FunctionName{"asin", 1},
    FunctionName{"acos", 1},     FunctionName{"atan2", 2}, FunctionName{"acosh", 1},
    FunctionName{"atanh", 1},    FunctionName{"log10", 1}, FunctionName{"sech", 1},
};

}  // namespace

std::span<const FunctionName> known_functions() { return kFunctions; }

Expr call(std::string_view name, std::span<const Expr> arguments) {
  Graph& g = arguments[0].graph();
  const Expr x = arguments[0];
  if (name == "sqrt") return sqrt(x);
  if (name == "asin") return atan2(x, sqrt(1.0 - pow(x, 2)));
  if (name == "acos") return atan2(sqrt(1.0 - pow(x, 2)), x);
  if (name == "acosh") return log(x + sqrt(x - 1.0) * sqrt(x + 1.0));
  if (name == "atanh") return 0.5 * log((1.0 + x) / (1.0 - x));
  if (name == "log10") return std::numbers::log10e * log(x);
  if (name == "sech") return 1.0 / cosh(x);
  for (int k = static_cast<int>(Kind::exp); k <= static_cast<int>(Kind::power); ++k) {
    const Kind kind = static_cast<Kind>(k);
    if (function_name(kind) != name) continue;
    return is_unary(kind) ? g.function(kind, arguments[0]) : g.function(kind, arguments[0], arguments[1]);
  }
  return {};
}

}  // namespace lather::symbolic
