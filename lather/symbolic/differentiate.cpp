#include "lather/symbolic/differentiate.hpp"

#include "lather/symbolic/functions.hpp"

namespace lather::symbolic {

namespace {

// D of one node, given D of its arguments.
Expr rule(Expr e, const std::vector<Expr>& d, const SymbolDerivative& of_symbol) {
  Graph& g = e.graph();
  const Node& n = e.node();
  const Expr zero = g.constant(0);
  switch (n.kind) {
    case Kind::constant: return zero;
    case Kind::symbol: {
      const Expr value = of_symbol(e);
      return value ? value : zero;
    }
    case Kind::sum: return g.sum(d, n.coefficients);
    case Kind::product: {  // sum_i e_i D(b_i) b_i^(e_i - 1) prod_{j != i} b_j^e_j
      std::vector<Expr> terms;
      for (std::size_t i = 0; i < d.size(); ++i) {
        if (d[i].is_constant(0)) continue;
        std::vector<Expr> bases = n.arguments;
        std::vector<double> exponents = n.coefficients;
        exponents[i] -= 1;
        bases.push_back(d[i]);
        exponents.push_back(1);
        terms.push_back(n.coefficients[i] * g.product(bases, exponents));
      }
      return g.sum(terms, std::vector<double>(terms.size(), 1.0));
    }
    case Kind::min:
    case Kind::max: {
      const Expr a = n.arguments[0], b = n.arguments[1];
      const Expr first = step(n.kind == Kind::min ? b - a : a - b);  // 1 where the first argument is taken
      return first * d[0] + (1.0 - first) * d[1];
    }
    case Kind::atan2: {  // (x Dy - y Dx) / (x^2 + y^2)
      const Expr y = n.arguments[0], x = n.arguments[1];
      return (x * d[0] - y * d[1]) / (pow(x, 2) + pow(y, 2));
    }
    case Kind::gate: return gate(n.arguments[0], d[1]);  // not across the switch
    case Kind::power: {                                  // a^b: b a^(b-1) Da + a^b log(a) Db
      const Expr a = n.arguments[0], b = n.arguments[1];
      Expr result = b * pow(a, b - 1.0) * d[0];
      if (!d[1].is_constant(0)) result = result + e * log(a) * d[1];
      return result;
    }
    default: return d[0].is_constant(0) ? zero : derivative_of_function(n.kind, n.arguments[0]) * d[0];
  }
}

}  // namespace

std::vector<Expr> differentiate(std::span<const Expr> list, const SymbolDerivative& of_symbol) {
  ExprMap<Expr> done;
  for (Expr e : topological_order(list)) {
    std::vector<Expr> d;
    for (Expr a : e.arguments()) d.push_back(done.at(a));
    done.emplace(e, rule(e, d, of_symbol));
  }
  std::vector<Expr> results;
  for (Expr e : list) results.push_back(done.at(e));
  return results;
}

Expr differentiate(Expr e, const SymbolDerivative& of_symbol) {
  return differentiate(std::span(&e, 1), of_symbol)[0];
}

Expr differentiate(Expr e, Expr symbol) {
  return differentiate(e, [symbol](Expr s) { return s == symbol ? s.graph().constant(1) : Expr(); });
}

}  // namespace lather::symbolic
