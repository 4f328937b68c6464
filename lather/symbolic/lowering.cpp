#include "lather/symbolic/lowering.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace lather::symbolic {

namespace {

Opcode opcode_of(Kind kind) {
  switch (kind) {
    case Kind::exp: return Opcode::exp;
    case Kind::log: return Opcode::log;
    case Kind::sin: return Opcode::sin;
    case Kind::cos: return Opcode::cos;
    case Kind::tan: return Opcode::tan;
    case Kind::sinh: return Opcode::sinh;
    case Kind::cosh: return Opcode::cosh;
    case Kind::tanh: return Opcode::tanh;
    case Kind::asinh: return Opcode::asinh;
    case Kind::atan: return Opcode::atan;
    case Kind::erf: return Opcode::erf;
    case Kind::abs: return Opcode::abs;
    case Kind::sign: return Opcode::sign;
    case Kind::step: return Opcode::step;
    case Kind::sigmoid: return Opcode::sigmoid;
    case Kind::softplus: return Opcode::softplus;
    case Kind::min: return Opcode::min;
    case Kind::max: return Opcode::max;
    case Kind::atan2: return Opcode::atan2;
    case Kind::gate: return Opcode::gate;
    default: return Opcode::power;
  }
}

using Value = VirtualValue;

class Lowering {
 public:
  LoweredCode run(std::span<const Expr> outputs, std::span<const Expr> inputs) {
    for (Expr input : inputs) value_[input] = fresh(Operand::Place::input);
    factor_products(outputs);
    for (Expr e : order_) uses_of_arguments(e);
    for (Expr e : outputs) ++uses_[e];
    for (Expr e : outputs) lowered_.results.push_back(lower(e));
    return std::move(lowered_);
  }

 private:
  // A product as a list of factors; each factor is an expression or a product of two earlier ones.
  struct Factor {
    Expr base;  // base^exponent
    double exponent = 1;
    int first = -1, second = -1;  // or the product of two other factors
  };

  Value fresh(Operand::Place where, int index = -1) {
    if (index < 0) index = counts_[where]++;
    lowered_.place.push_back({where, static_cast<std::uint16_t>(index)});
    return static_cast<Value>(lowered_.place.size()) - 1;
  }

  Value constant(double number) {
    auto [it, is_new] = constant_values_.emplace(number, -1);
    if (is_new) {
      it->second = fresh(Operand::Place::constant);
      lowered_.constants.push_back(number);
    }
    return it->second;
  }

  Value emit(Opcode op, Value a, Value b = -1, Value c = -1) {
    const Value result = fresh(Operand::Place::reg);
    lowered_.code.push_back({op, result, a, b, c});
    return result;
  }

  int factor_id(Expr base, double exponent) {
    auto [it, is_new] =
        factor_ids_.emplace(std::pair{base.id(), exponent}, static_cast<int>(factors_.size()));
    if (is_new) factors_.push_back({base, exponent});
    return it->second;
  }

  // Pairs of factors that occur in several products are multiplied once: the most frequent pair first.
  void factor_products(std::span<const Expr> outputs) {
    order_ = topological_order(outputs);
    std::vector<std::pair<Expr, std::vector<int>>> products;
    for (Expr e : order_) {
      if (e.kind() != Kind::product) continue;
      std::vector<int> list;
      for (std::size_t i = 0; i < e.arguments().size(); ++i) {
        const double exponent = e.node().coefficients[i];
        if (exponent > 0) list.push_back(factor_id(e.arguments()[i], exponent));
      }
      products.emplace_back(e, std::move(list));
    }
    for (;;) {
      std::map<std::pair<int, int>, int> pairs;
      for (const auto& [e, list] : products)
        for (std::size_t i = 0; i < list.size(); ++i)
          for (std::size_t j = i + 1; j < list.size(); ++j) ++pairs[std::minmax(list[i], list[j])];
      const auto best = std::max_element(pairs.begin(), pairs.end(),
                                         [](const auto& x, const auto& y) { return x.second < y.second; });
      if (best == pairs.end() || best->second < 2) break;
      const int first = best->first.first, second = best->first.second;
      factors_.push_back({Expr(), 1, first, second});
      const int joined = static_cast<int>(factors_.size()) - 1;
      for (auto& [e, list] : products) {
        const auto i = std::find(list.begin(), list.end(), first);
        const auto j = std::find(list.begin(), list.end(), second);
        if (i == list.end() || j == list.end()) continue;
        std::erase_if(list, [&](int f) { return f == first || f == second; });
        list.push_back(joined);
      }
    }
    for (auto& [e, list] : products) {
      for (int f : list) ++factor_uses_[f];
      product_factors_[e] = std::move(list);
    }
  }

  void uses_of_arguments(Expr e) {
    for (Expr a : e.arguments()) ++uses_[a];
  }

  Value power(Expr base, double exponent) {  // exponent > 0
    const auto key = std::pair{base.id(), exponent};
    if (auto it = powers_.find(key); it != powers_.end()) return it->second;
    Value v = -1;
    const double whole = std::floor(exponent);
    if (exponent == 1)
      v = lower(base);
    else if (exponent == 0.5)
      v = emit(Opcode::sqrt, lower(base));
    else if (exponent == whole && whole <= 64) {
      const double half = std::floor(exponent / 2);
      const Value root = power(base, half);
      v = emit(Opcode::mul, root, root);
      if (2 * half != exponent) v = emit(Opcode::mul, v, lower(base));
    } else if (exponent == whole + 0.5 && whole <= 64) {
      v = emit(Opcode::mul, power(base, whole), power(base, 0.5));
    } else {
      v = emit(Opcode::power, lower(base), constant(exponent));
    }
    powers_[key] = v;
    return v;
  }

  Value factor_value(int f) {
    if (auto it = factor_values_.find(f); it != factor_values_.end()) return it->second;
    const Factor factor = factors_[f];
    const Value v = factor.base ? power(factor.base, factor.exponent)
                                : emit(Opcode::mul, factor_value(factor.first), factor_value(factor.second));
    factor_values_[f] = v;
    return v;
  }

  Value product_of(std::span<const int> list) {
    Value v = factor_value(list[0]);
    for (std::size_t i = 1; i < list.size(); ++i) v = emit(Opcode::mul, v, factor_value(list[i]));
    return v;
  }

  Value lower_product(Expr e) {
    const Node& n = e.node();
    Value below = -1;
    for (std::size_t i = 0; i < n.arguments.size(); ++i) {
      if (n.coefficients[i] > 0) continue;
      const Value v = power(n.arguments[i], -n.coefficients[i]);
      below = below < 0 ? v : emit(Opcode::mul, below, v);
    }
    const auto& list = product_factors_.at(e);
    if (list.empty()) return emit(Opcode::div, constant(1), below);
    const Value above = product_of(list);
    return below < 0 ? above : emit(Opcode::div, above, below);
  }

  // A product that only this sum needs can be fused: x * y + accumulated.
  bool fusible(Expr e) const {
    if (e.kind() != Kind::product || uses_.at(e) != 1) return false;
    const Node& n = e.node();
    if (std::any_of(n.coefficients.begin(), n.coefficients.end(), [](double c) { return c < 0; }))
      return false;
    const auto& list = product_factors_.at(e);
    if (list.size() >= 2) return true;
    const Factor& only = factors_[list[0]];
    // A pair used nowhere else, or a square: the multiplication itself is what gets fused.
    return only.base ? only.exponent == 2 && !powers_.contains({only.base.id(), 2.0}) && base_uses_once(only)
                     : factor_uses_.at(list[0]) == 1;
  }
  bool base_uses_once(const Factor& f) const {
    const auto it = factor_ids_.find({f.base.id(), f.exponent});
    return it != factor_ids_.end() && factor_uses_.at(it->second) == 1;
  }

  std::pair<Value, Value> two_factors(Expr e) {
    const auto& list = product_factors_.at(e);
    if (list.size() >= 2)
      return {product_of(std::span(list).first(list.size() - 1)), factor_value(list.back())};
    const Factor only = factors_[list[0]];
    if (!only.base) return {factor_value(only.first), factor_value(only.second)};
    const Value v = lower(only.base);
    return {v, v};
  }

  Value lower_sum(Expr e) {
    const Node& n = e.node();
    // Start with a term that can stand alone: the offset, or the first term of coefficient 1.
    std::vector<std::size_t> order(n.arguments.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    Value sum = -1;
    bool negated = false;  // `sum` holds minus the true partial sum
    if (n.constant != 0) {
      sum = constant(n.constant);
    } else {
      std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
        return start_rank(n.arguments[i], n.coefficients[i]) < start_rank(n.arguments[j], n.coefficients[j]);
      });
      const std::size_t i = order.front();
      order.erase(order.begin());
      const double c = n.coefficients[i];
      const Value v = lower(n.arguments[i]);
      if (c == 1)
        sum = v;
      else if (c == -1 && !order.empty()) {
        sum = v;
        negated = true;
      } else
        sum = emit(Opcode::mul, constant(c), v);
    }
    for (std::size_t i : order) {
      const double c = n.coefficients[i];
      const Expr term = n.arguments[i];
      Value a, b;
      double sign = 1;
      if (fusible(term)) {
        std::tie(a, b) = two_factors(term);
        if (c == -1)
          sign = -1;
        else if (c != 1)
          a = emit(Opcode::mul, constant(c), a);
      } else if (c == 1 || c == -1) {
        const Value v = lower(term);
        if (negated)
          sum = c == 1 ? emit(Opcode::sub, v, sum) : minus_sum(v, sum);
        else
          sum = emit(c == 1 ? Opcode::add : Opcode::sub, sum, v);
        negated = false;
        continue;
      } else {
        a = constant(c);
        b = lower(term);
      }
      if (negated)
        sum = sign > 0 ? emit(Opcode::multiply_subtract, a, b, sum) : minus_product_minus(a, b, sum);
      else
        sum = emit(sign > 0 ? Opcode::multiply_add : Opcode::subtract_product, a, b, sum);
      negated = false;
    }
    return sum;
  }

  // Terms with coefficient 1 that cannot be fused make the best start of a sum; -1 next.
  int start_rank(Expr term, double c) const {
    const bool fused = fusible(term);
    if (c == 1) return fused ? 1 : 0;
    if (c == -1) return fused ? 3 : 2;
    return fused ? 5 : 4;
  }
  Value minus_sum(Value v, Value sum) { return emit(Opcode::sub, emit(Opcode::mul, constant(-1), v), sum); }
  Value minus_product_minus(Value a, Value b, Value sum) {
    return emit(Opcode::subtract_product, a, b, emit(Opcode::mul, constant(-1), sum));
  }

  Value lower(Expr e) {
    if (auto it = value_.find(e); it != value_.end()) return it->second;
    const Node& n = e.node();
    assert(n.kind != Kind::symbol && "symbol is not an input of the program");
    Value v = -1;
    if (n.kind == Kind::constant)
      v = constant(n.constant);
    else if (n.kind == Kind::sum)
      v = lower_sum(e);
    else if (n.kind == Kind::product)
      v = lower_product(e);
    else if (n.arguments.size() == 1)
      v = emit(opcode_of(n.kind), lower(n.arguments[0]));
    else
      v = emit(opcode_of(n.kind), lower(n.arguments[0]), lower(n.arguments[1]));
    value_[e] = v;
    return v;
  }

  LoweredCode lowered_;
  std::vector<Expr> order_;
  ExprMap<Value> value_;
  ExprMap<int> uses_;
  ExprMap<std::vector<int>> product_factors_;
  std::map<std::pair<std::uint32_t, double>, int> factor_ids_;
  std::map<std::pair<std::uint32_t, double>, Value> powers_;
  std::map<int, Value> factor_values_;
  std::map<int, int> factor_uses_;
  std::vector<Factor> factors_;
  std::map<double, Value> constant_values_;
  std::map<Operand::Place, int> counts_;
};

}  // namespace

LoweredCode lower(std::span<const Expr> outputs, std::span<const Expr> inputs) {
  return Lowering().run(outputs, inputs);
}

}  // namespace lather::symbolic
