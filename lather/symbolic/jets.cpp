#include "lather/symbolic/jets.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <set>

#include "lather/symbolic/differentiate.hpp"

namespace lather::symbolic {

int MultiIndex::total() const { return std::accumulate(order.begin(), order.end(), 0); }

MultiIndex MultiIndex::plus(int direction) const {
  MultiIndex result = *this;
  ++result.order[direction];
  return result;
}

MultiIndex::Lowered MultiIndex::lowered() const {
  Lowered result{*this, 0};
  while (order[result.direction] == 0) ++result.direction;
  --result.index.order[result.direction];
  return result;
}

JetSet JetSet::closure(int dimensions, std::span<const MultiIndex> wanted,
                       std::vector<double> laplacian_weights) {
  assert(dimensions <= kMaxDimensions);
  std::set<MultiIndex> all{MultiIndex{}};
  std::vector<MultiIndex> pending(wanted.begin(), wanted.end());
  for (std::size_t i = 0; i < laplacian_weights.size(); ++i)
    if (laplacian_weights[i] != 0) pending.push_back(MultiIndex{}.plus(static_cast<int>(i)));
  while (!pending.empty()) {
    const MultiIndex index = pending.back();
    pending.pop_back();
    if (!all.insert(index).second) continue;
    for (int i = 0; i < dimensions; ++i)
      if (index.order[i] > 0) {
        MultiIndex lower = index;
        --lower.order[i];
        pending.push_back(lower);
      }
  }
  JetSet set;
  set.dimensions_ = dimensions;
  set.derivatives_.assign(all.begin(), all.end());
  std::stable_sort(set.derivatives_.begin(), set.derivatives_.end(),
                   [](const MultiIndex& a, const MultiIndex& b) {
                     return a.total() != b.total() ? a.total() < b.total() : a > b;
                   });
  set.laplacian_ = std::move(laplacian_weights);
  return set;
}

int JetSet::highest_order() const {
  return has_laplacian() ? std::max(2, derivatives_.back().total()) : derivatives_.back().total();
}

std::optional<int> JetSet::component(const MultiIndex& derivative) const {
  const auto it = std::find(derivatives_.begin(), derivatives_.end(), derivative);
  if (it == derivatives_.end()) return {};
  return static_cast<int>(it - derivatives_.begin());
}

std::string JetSet::component_name(int component, std::span<const std::string> coordinates) const {
  if (has_laplacian() && component == laplacian_component()) return "laplacian";
  std::string name;
  for (int i = 0; i < dimensions_; ++i)
    for (int k = 0; k < derivatives_[component].order[i]; ++k) name += coordinates[i];
  return name;
}

namespace {

class Deriver {
 public:
  Deriver(const JetSet& set, Graph& graph, std::span<const Expr> arguments,
          std::optional<OpaqueFunction> opaque)
      : set_(set), graph_(graph) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      // The value component is the argument symbol itself.
      std::vector<Expr> components{arguments[i]};
      for (int c = 1; c < set.size(); ++c)
        components.push_back(graph.symbol("jet:" + arguments[i].node().name + ":" + std::to_string(c)));
      for (int c = 0; c < set.size(); ++c) component_of_[components[c]] = {static_cast<int>(i), c};
      inputs.push_back(std::move(components));
    }
    if (!opaque) return;
    // f, f', f'', … up to what the adjoint of the highest derivative needs.
    Expr name = opaque->name, value = opaque->value;
    const int highest = set.highest_order() + 1;
    for (int k = 0; k <= highest; ++k) {
      series_[name] = {value, opaque->argument, {}};
      if (k < highest) {
        const Expr next = graph.symbol("opaque:" + opaque->name.node().name + ":" + std::to_string(k + 1));
        series_[name].next = next;
        name = next;
        value = differentiate(value, opaque->argument);
      }
    }
  }

  std::vector<std::vector<Expr>> inputs;

  // Total derivative in one coordinate direction; nothing carries derivatives beyond the set.
  Expr total(Expr e, int direction) const {
    return differentiate(e, [&](Expr s) {
      if (auto chained = chain(s, [&](Expr z) { return shifted(z, direction); })) return chained;
      return shifted(s, direction);
    });
  }

  // Partial derivative with respect to one jet component or parameter.
  Expr partial(Expr e, Expr symbol) const {
    return differentiate(e, [&](Expr s) {
      const auto delta = [&](Expr z) { return z == symbol ? graph_.constant(1) : Expr(); };
      if (auto chained = chain(s, delta)) return chained;
      return delta(s);
    });
  }

  // sum_i w_i d^2/dx_i^2 of f(p, q, …) = sum_i w_i (D_i D_i f,
  // without second derivatives of p) + sum_p f_p p_laplacian
  Expr laplacian(Expr value, const std::vector<Expr>& first_derivatives) const {
    Expr result = graph_.constant(0);
    for (int i = 0; i < set_.dimensions(); ++i) {
      const double w = set_.laplacian_weights()[i];
      if (w == 0) continue;
      // D_i of (D_i f), where D_i of a first derivative counts as zero: it is collected in p_laplacian.
      const auto only_values = [&](Expr s) -> Expr {
        const auto it = component_of_.find(s);
        return it != component_of_.end() && it->second.component == 0 ? shifted(s, i) : Expr();
      };
      result = result + w * differentiate(first_derivatives[i], [&](Expr s) {
                          if (auto chained = chain(s, only_values)) return chained;
                          return only_values(s);
                        });
    }
    for (const auto& input : inputs)
      result = result + partial(value, input[0]) * input[set_.laplacian_component()];
    return result;
  }

  // Writes opaque functions out.
  std::vector<Expr> expand(std::span<const Expr> list) const {
    ExprMap<Expr> values;
    for (const auto& [name, entry] : series_) values[name] = entry.value;
    return substitute(list, values);
  }

 private:
  struct Place {
    int input, component;
  };
  struct Series {
    Expr value, argument, next;
  };

  Expr shifted(Expr s, int direction) const {
    const auto it = component_of_.find(s);
    if (it == component_of_.end()) return {};
    const auto [input, c] = it->second;
    assert(c < static_cast<int>(set_.derivatives().size()));
    const auto next = set_.component(set_.derivatives()[c].plus(direction));
    assert(next);
    return inputs[input][*next];
  }

  template <class F>
  Expr chain(Expr s, const F& derivative_of_argument) const {
    const auto it = series_.find(s);
    if (it == series_.end()) return {};
    const Expr inner = derivative_of_argument(it->second.argument);
    return inner ? it->second.next * inner : graph_.constant(0);
  }

  const JetSet& set_;
  Graph& graph_;
  ExprMap<Place> component_of_;
  ExprMap<Series> series_;
};

}  // namespace

JetRule derive_jets(const JetSet& set, Expr value, std::span<const Expr> arguments,
                    std::span<const Expr> parameters, std::optional<OpaqueFunction> opaque) {
  Graph& g = value.graph();
  Deriver deriver(set, g, arguments, opaque);
  JetRule rule;
  rule.inputs = deriver.inputs;

  // Values first, then each derivative from one of lower order.
  rule.outputs.push_back(value);
  for (std::size_t c = 1; c < set.derivatives().size(); ++c) {
    const auto [lower, direction] = set.derivatives()[c].lowered();
    rule.outputs.push_back(deriver.total(rule.outputs[*set.component(lower)], direction));
  }
  if (set.has_laplacian()) {
    std::vector<Expr> first(set.dimensions(), g.constant(0));
    for (int i = 0; i < set.dimensions(); ++i)
      if (const auto c = set.component(MultiIndex{}.plus(i))) first[i] = rule.outputs[*c];
    rule.outputs.push_back(deriver.laplacian(value, first));
  }

  // The adjoint: derivatives of sum_c bar_c out_c.
  Expr weighted = g.constant(0);
  for (int c = 0; c < set.size(); ++c) {
    rule.output_bars.push_back(g.symbol("bar:" + std::to_string(c)));
    weighted = weighted + rule.output_bars[c] * rule.outputs[c];
  }
  for (const auto& input : rule.inputs) {
    std::vector<Expr> bars;
    for (Expr component : input) bars.push_back(deriver.partial(weighted, component));
    rule.input_bars.push_back(deriver.expand(bars));
  }
  for (Expr p : parameters) rule.parameter_bars.push_back(deriver.partial(weighted, p));
  rule.parameter_bars = deriver.expand(rule.parameter_bars);
  rule.outputs = deriver.expand(rule.outputs);
  return rule;
}

}  // namespace lather::symbolic
