#include "lather/symbolic/expression.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "lather/core/error.hpp"
#include "lather/symbolic/functions.hpp"

namespace lather::symbolic {

namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

std::size_t hash_of(const Node& n) {
  std::size_t h = static_cast<std::size_t>(n.kind);
  h = mix(h, std::hash<double>()(n.constant));
  h = mix(h, std::hash<std::string>()(n.name));
  for (Expr e : n.arguments) h = mix(h, e.id());
  for (double c : n.coefficients) h = mix(h, std::hash<double>()(c));
  return h;
}

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.constant == b.constant && a.name == b.name && a.arguments == b.arguments &&
         a.coefficients == b.coefficients;
}

bool is_integer(double x) { return x == std::floor(x) && std::abs(x) < 1e15; }

// Joins equal expressions, adding their numbers; drops zeros; sorts by order of creation.
struct Collector {
  std::vector<std::pair<Expr, double>> items;
  void add(Expr e, double number) { items.emplace_back(e, number); }
  void join() {
    std::stable_sort(items.begin(), items.end(),
                     [](const auto& a, const auto& b) { return a.first.id() < b.first.id(); });
    std::vector<std::pair<Expr, double>> joined;
    for (const auto& [e, number] : items) {
      if (!joined.empty() && joined.back().first == e)
        joined.back().second += number;
      else
        joined.emplace_back(e, number);
    }
    std::erase_if(joined, [](const auto& item) { return item.second == 0; });
    items = std::move(joined);
  }
};

}  // namespace

bool is_unary(Kind kind) { return kind >= Kind::exp && kind <= Kind::softplus; }

Expr Graph::intern(Node node) {
  const std::size_t h = hash_of(node);
  for (auto [it, end] = index_.equal_range(h); it != end; ++it)
    if (same(*it->second, node)) return Expr(this, it->second);
  operands_ += 1 + node.arguments.size();
  if (operands_ > kMostOperands) throw Error("the expressions grow too large");
  node.id = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(std::move(node));
  index_.emplace(h, &nodes_.back());
  return Expr(this, &nodes_.back());
}

Expr Graph::constant(double value) {
  Node n(Kind::constant);
  n.constant = value == 0 ? 0.0 : value;  // one zero
  return intern(std::move(n));
}

Expr Graph::symbol(std::string_view name) {
  Node n(Kind::symbol);
  n.name = name;
  return intern(std::move(n));
}

Expr Graph::sum(std::span<const Expr> terms, std::span<const double> coefficients, double offset) {
  Collector collected;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Node& term = terms[i].node();
    const double c = coefficients[i];
    if (term.kind == Kind::constant) {
      if (c != 0) offset += c * term.constant;
    } else if (term.kind == Kind::sum) {
      offset += c * term.constant;
      for (std::size_t j = 0; j < term.arguments.size(); ++j)
        collected.add(term.arguments[j], c * term.coefficients[j]);
    } else {
      collected.add(terms[i], c);
    }
  }
  collected.join();
  if (collected.items.empty()) return constant(offset);
  if (collected.items.size() == 1 && collected.items[0].second == 1 && offset == 0)
    return collected.items[0].first;
  Node n(Kind::sum);
  n.constant = offset == 0 ? 0.0 : offset;
  for (const auto& [e, c] : collected.items) {
    n.arguments.push_back(e);
    n.coefficients.push_back(c);
  }
  return intern(std::move(n));
}

Expr Graph::product(std::span<const Expr> bases, std::span<const double> exponents) {
  double factor = 1;
  Collector collected;
  const std::function<void(Expr, double)> add = [&](Expr base, double e) {
    if (e == 0) return;
    const Node& b = base.node();
    const bool whole = is_integer(e);
    if (b.kind == Kind::constant) {
      factor *= std::pow(b.constant, e);
    } else if (b.kind == Kind::product && (whole || e == 1)) {
      for (std::size_t i = 0; i < b.arguments.size(); ++i) add(b.arguments[i], b.coefficients[i] * e);
    } else if (b.kind == Kind::sum && b.arguments.size() == 1 && b.constant == 0 &&
               (whole || b.coefficients[0] > 0)) {
      factor *= std::pow(b.coefficients[0], e);  // (c t)^e = c^e t^e
      add(b.arguments[0], e);
    } else {
      collected.add(base, e);
    }
  };
  for (std::size_t i = 0; i < bases.size(); ++i) add(bases[i], exponents[i]);
  if (factor == 0) return constant(0);
  collected.join();

  Expr bare;
  if (collected.items.empty()) return constant(factor);
  if (collected.items.size() == 1 && collected.items[0].second == 1) {
    bare = collected.items[0].first;
  } else {
    Node n(Kind::product);
    for (const auto& [base, e] : collected.items) {
      n.arguments.push_back(base);
      n.coefficients.push_back(e);
    }
    bare = intern(std::move(n));
  }
  if (factor == 1) return bare;
  return sum(std::span(&bare, 1), std::span(&factor, 1));
}

Expr Graph::function(Kind kind, Expr argument) {
  assert(is_unary(kind));
  if (argument.is_constant()) return constant(apply(kind, argument.node().constant));
  Node n(kind);
  n.arguments = {argument};
  return intern(std::move(n));
}

Expr Graph::function(Kind kind, Expr first, Expr second) {
  if (kind == Kind::power && second.is_constant()) return pow(first, second.node().constant);
  if (first.is_constant() && second.is_constant())
    return constant(apply(kind, first.node().constant, second.node().constant));
  if ((kind == Kind::min || kind == Kind::max) && first == second) return first;
  if (kind == Kind::gate && first.is_constant()) return first.is_constant(0) ? first : second;
  if (kind == Kind::gate && second.is_constant(0)) return second;
  Node n(kind);
  n.arguments = {first, second};
  return intern(std::move(n));
}

namespace {

Expr linear(Expr a, double ca, Expr b, double cb) {
  const Expr terms[] = {a, b};
  const double coefficients[] = {ca, cb};
  return a.graph().sum(terms, coefficients);
}

Expr monomial(Expr a, double ea, Expr b, double eb) {
  const Expr bases[] = {a, b};
  const double exponents[] = {ea, eb};
  return a.graph().product(bases, exponents);
}

}  // namespace

Expr operator+(Expr a, Expr b) { return linear(a, 1, b, 1); }
Expr operator-(Expr a, Expr b) { return linear(a, 1, b, -1); }
Expr operator-(Expr a) {
  const double minus = -1;
  return a.graph().sum(std::span(&a, 1), std::span(&minus, 1));
}
Expr operator*(Expr a, Expr b) {
  // A number times a sum is distributed: 2 (x + y) = 2x + 2y.
  if (a.is_constant()) return linear(b, a.node().constant, b, 0);
  if (b.is_constant()) return linear(a, b.node().constant, a, 0);
  return monomial(a, 1, b, 1);
}
Expr operator/(Expr a, Expr b) {
  if (b.is_constant()) return linear(a, 1 / b.node().constant, a, 0);
  return monomial(a, 1, b, -1);
}
Expr pow(Expr base, double exponent) {
  return base.graph().product(std::span(&base, 1), std::span(&exponent, 1));
}
Expr pow(Expr base, Expr exponent) { return base.graph().function(Kind::power, base, exponent); }

std::vector<Expr> topological_order(std::span<const Expr> roots) {
  std::vector<Expr> order;
  ExprMap<bool> seen;
  std::vector<std::pair<Expr, std::size_t>> stack;
  for (Expr root : roots) {
    if (!seen.emplace(root, true).second) continue;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [e, next] = stack.back();
      if (next == e.arguments().size()) {
        order.push_back(e);
        stack.pop_back();
        continue;
      }
      const Expr child = e.arguments()[next++];
      if (seen.emplace(child, true).second) stack.emplace_back(child, 0);
    }
  }
  return order;
}

std::vector<Expr> symbols_of(std::span<const Expr> roots) {
  std::vector<Expr> symbols;
  for (Expr e : topological_order(roots))
    if (e.is_symbol()) symbols.push_back(e);
  std::sort(symbols.begin(), symbols.end(), [](Expr a, Expr b) { return a.id() < b.id(); });
  return symbols;
}

std::vector<Expr> substitute(std::span<const Expr> list, const ExprMap<Expr>& replacements) {
  ExprMap<Expr> done;
  for (Expr e : topological_order(list)) {
    Expr result = e;
    if (auto it = replacements.find(e); it != replacements.end()) {
      result = it->second;
    } else if (!e.arguments().empty()) {
      std::vector<Expr> arguments;
      for (Expr a : e.arguments()) arguments.push_back(done.at(a));
      const Node& n = e.node();
      Graph& g = e.graph();
      if (n.kind == Kind::sum)
        result = g.sum(arguments, n.coefficients, n.constant);
      else if (n.kind == Kind::product)
        result = g.product(arguments, n.coefficients);
      else if (arguments.size() == 1)
        result = g.function(n.kind, arguments[0]);
      else
        result = g.function(n.kind, arguments[0], arguments[1]);
    }
    done.emplace(e, result);
  }
  std::vector<Expr> results;
  for (Expr e : list) results.push_back(done.at(e));
  return results;
}

Expr substitute(Expr e, const ExprMap<Expr>& replacements) {
  return substitute(std::span(&e, 1), replacements)[0];
}

}  // namespace lather::symbolic
