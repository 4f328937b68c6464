#pragma once
// The plain meaning of an expression, in any real type: the
// specification that compiled programs are tested against.

#include "lather/symbolic/functions.hpp"

namespace lather::symbolic {

// Evaluates all of `list` with the given values of symbols; a missing symbol throws std::out_of_range.
template <class Real>
std::vector<Real> evaluate(std::span<const Expr> list, const ExprMap<Real>& symbols) {
  using std::pow;
  ExprMap<Real> value;
  for (Expr e : topological_order(list)) {
    const Node& n = e.node();
    Real result{};
    if (n.kind == Kind::constant) {
      result = Real(n.constant);
    } else if (n.kind == Kind::symbol) {
      result = symbols.at(e);
    } else if (n.kind == Kind::sum) {
      result = Real(n.constant);
      for (std::size_t i = 0; i < n.arguments.size(); ++i)
        result += Real(n.coefficients[i]) * value.at(n.arguments[i]);
    } else if (n.kind == Kind::product) {
      result = Real(1);
      for (std::size_t i = 0; i < n.arguments.size(); ++i) {
        const Real base = value.at(n.arguments[i]);
        const double exponent = n.coefficients[i];
        if (exponent == std::floor(exponent) && std::abs(exponent) <= 64) {
          for (int k = 0; k < std::abs(exponent); ++k)
            result = exponent > 0 ? Real(result * base) : Real(result / base);
        } else {
          result *= pow(base, Real(exponent));
        }
      }
    } else if (n.arguments.size() == 1) {
      result = apply(n.kind, value.at(n.arguments[0]));
    } else {
      result = apply(n.kind, value.at(n.arguments[0]), value.at(n.arguments[1]));
    }
    value.emplace(e, result);
  }
  std::vector<Real> results;
  for (Expr e : list) results.push_back(value.at(e));
  return results;
}

template <class Real>
Real evaluate(Expr e, const ExprMap<Real>& symbols) {
  return evaluate<Real>(std::span<const Expr>(&e, 1), symbols)[0];
}

}  // namespace lather::symbolic
