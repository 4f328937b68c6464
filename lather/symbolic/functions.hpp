#pragma once
// The functions of the language, defined once: name, value in any real type, derivative.

#include <cmath>
#include <span>
#include <string_view>

#include "lather/symbolic/expression.hpp"

namespace lather::symbolic {

// Values in any real type for which the <cmath> names are found by argument-dependent lookup or in std.
template <class Real>
Real apply(Kind kind, Real x) {
  using std::exp, std::log, std::log1p, std::sin, std::cos, std::tan, std::sinh, std::cosh, std::tanh,
      std::asinh, std::atan, std::erf, std::fabs;
  switch (kind) {
    case Kind::exp: return exp(x);
    case Kind::log: return log(x);
    case Kind::sin: return sin(x);
    case Kind::cos: return cos(x);
    case Kind::tan: return tan(x);
    case Kind::sinh: return sinh(x);
    case Kind::cosh: return cosh(x);
    case Kind::tanh: return tanh(x);
    case Kind::asinh: return asinh(x);
    case Kind::atan: return atan(x);
    case Kind::erf: return erf(x);
    case Kind::abs: return fabs(x);
    case Kind::sign: return x > Real(0) ? Real(1) : x < Real(0) ? Real(-1) : x;
    case Kind::step: return x >= Real(0) ? Real(1) : Real(0);
    case Kind::sigmoid: return x >= Real(0) ? Real(1) / (Real(1) + exp(-x)) : exp(x) / (Real(1) + exp(x));
    case Kind::softplus: return x > Real(0) ? x + log1p(exp(-x)) : log1p(exp(x));
    default: return Real(NAN);
  }
}

template <class Real>
Real apply(Kind kind, Real a, Real b) {
  using std::pow, std::atan2;
  switch (kind) {
    case Kind::min: return b < a ? b : a;
    case Kind::max: return a < b ? b : a;
    case Kind::atan2: return atan2(a, b);
    case Kind::gate: return a > Real(0) || a < Real(0) ? b : Real(0);
    case Kind::power: return pow(a, b);
    default: return Real(NAN);
  }
}

// d f(x) / dx for a function of one argument.
Expr derivative_of_function(Kind kind, Expr argument);

// The functions a user may call, "sqrt" and "pow" included.
struct FunctionName {
  std::string_view name;
  int arguments;
};
std::span<const FunctionName> known_functions();

// Builds a call by name; `arguments` has the right length.
Expr call(std::string_view name, std::span<const Expr> arguments);

}  // namespace lather::symbolic
