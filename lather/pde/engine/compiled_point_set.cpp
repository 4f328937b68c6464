#include "lather/pde/engine/compiled_point_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lather/core/error.hpp"
#include "lather/core/rng.hpp"
#include "lather/pde/coefficient_table.hpp"
#include "lather/symbolic/differentiate.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::pde {

using symbolic::Expr;
using symbolic::ExprMap;
using symbolic::JetSet;
using symbolic::MultiIndex;

symbolic::Expr column_symbol(symbolic::Graph& graph, const std::string& name) {
  return graph.symbol("data:" + name);
}

namespace {

// Second derivatives that occur only in one fixed combination sum_i w_i N_ii, the same for every output.
struct Collapse {
  std::vector<double> weights;  // per coordinate; empty: nothing to collapse
  ExprMap<Expr> replacements;   // N_ii -> the Laplacian symbol, or 0 for the others
  std::vector<Expr> symbols;    // the Laplacian of each output; empty Expr if it does not occur
};

// If expression e depends on N_ii and N_jj only through w_i N_ii + w_j N_jj, then w_j de/dN_ii = w_i de/dN_jj
// identically. Decided by evaluating both at random values of all symbols: a polynomial identity that holds
// at several random points holds with certainty for practical purposes.
class CollapseSearch {
 public:
  CollapseSearch(const Problem& problem, std::span<const Expr> expressions)
      : problem_(problem), expressions_(expressions) {}

  Collapse find() {
    const auto symbols = symbolic::symbols_of(expressions_);
    std::map<int, std::vector<std::pair<int, Expr>>> pure_second;  // output -> (coordinate, symbol)
    for (Expr s : symbols) {
      const auto d = problem_.symbols->find(s);
      if (!d) continue;
      const int total = d->orders.total();
      if (total > 2) return {};
      if (total < 2) continue;
      const auto direction =
          std::find(d->orders.order.begin(), d->orders.order.end(), 2) - d->orders.order.begin();
      if (direction == symbolic::kMaxDimensions)
        return {};  // a mixed derivative: its pure neighbours are needed anyway
      pure_second[d->output].emplace_back(static_cast<int>(direction), s);
    }
    Collapse result;
    for (auto& [output, list] : pure_second) {
      if (list.size() < 2) return {};
      std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      const auto weights = common_weights(list, symbols);
      if (!weights || (!result.weights.empty() && *weights != result.weights)) return {};
      result.weights = *weights;
    }
    if (result.weights.empty()) return {};
    result.symbols.resize(problem_.outputs());
    for (const auto& [output, list] : pure_second) {
      const Expr laplacian = problem_.graph->symbol(fmt::format("net:laplacian:{}", output));
      result.symbols[output] = laplacian;
      for (std::size_t k = 0; k < list.size(); ++k)
        result.replacements[list[k].second] =
            k == 0 ? laplacian / result.weights[list[0].first] : problem_.graph->constant(0);
    }
    return result;
  }

 private:
  std::optional<std::vector<double>> common_weights(const std::vector<std::pair<int, Expr>>& list,
                                                    const std::vector<Expr>& symbols) {
    std::vector<double> weights(problem_.dimensions(), 0.0);
    weights[list[0].first] = 1;
    for (Expr e : expressions_) {
      std::vector<Expr> slopes;
      for (const auto& [direction, s] : list) slopes.push_back(symbolic::differentiate(e, s));
      for (int trial = 0; trial < 6; ++trial) {
        const Random random(20240607, trial);
        ExprMap<double> values;
        for (std::size_t i = 0; i < symbols.size(); ++i) values[symbols[i]] = random.uniform(i, 0.2, 1.3);
        const auto slope = symbolic::evaluate<double>(slopes, values);
        for (std::size_t k = 1; k < list.size(); ++k) {
          double& w = weights[list[k].first];
          if (slope[0] == 0 && slope[k] == 0) continue;
          const double ratio = slope[k] / slope[0];
          if (!std::isfinite(ratio) || ratio == 0) return {};
          if (w == 0) w = std::abs(ratio - 1) < 1e-13 ? 1 : ratio;
          if (std::abs(ratio - w) > 1e-12 * std::abs(w)) return {};
        }
      }
    }
    for (const auto& [direction, s] : list)
      if (weights[direction] == 0) return {};
    return weights;
  }

  const Problem& problem_;
  std::span<const Expr> expressions_;
};

void compile_inputs(const Problem& problem, CompiledPointSet& set) {
  auto& symbols = *problem.symbols;
  std::vector<Expr> outputs;
  for (std::size_t k = 0; k < problem.network_inputs.size(); ++k) {
    std::vector<Expr> jet{problem.network_inputs[k]};
    const auto& derivatives = set.jets.derivatives();
    for (std::size_t c = 1; c < derivatives.size(); ++c) {
      const auto [lower, direction] = derivatives[c].lowered();
      jet.push_back(symbols.total_derivative(jet[*set.jets.component(lower)], direction));
    }
    if (set.jets.has_laplacian()) {
      Expr sum = problem.graph->constant(0);
      for (int i = 0; i < problem.dimensions(); ++i)
        if (const double w = set.jets.laplacian_weights()[i]; w != 0)
          sum = sum + w * symbols.total_derivative(symbols.total_derivative(jet[0], i), i);
      jet.push_back(sum);
    }
    for (int c = 0; c < set.jets.size(); ++c) {
      const CompiledPointSet::InputComponent where{static_cast<int>(k), c};
      if (!jet[c].is_constant()) {
        outputs.push_back(jet[c]);
        set.input_outputs.push_back(where);
      } else if (jet[c].node().constant != 0) {
        set.input_constants.push_back({where, jet[c].node().constant});
      }
    }
  }
  std::vector<Expr> used;
  const auto occurring = symbolic::symbols_of(outputs);
  for (int i = 0; i < problem.dimensions(); ++i)
    if (std::find(occurring.begin(), occurring.end(), symbols.coordinate(i)) != occurring.end()) {
      used.push_back(symbols.coordinate(i));
      set.input_coordinates.push_back(i);
    }
  set.input = symbolic::compile(outputs, used);
}

// A symbol of the expressions and where its values are read from.
using Source = std::pair<Expr, Slot>;

bool contains(const std::vector<Expr>& list, Expr e) {
  return std::find(list.begin(), list.end(), e) != list.end();
}

// The derivatives of network outputs among the symbols.
std::vector<std::pair<Expr, OutputSymbols::Derivative>> output_derivatives(
    const Problem& problem, const std::vector<Expr>& occurring) {
  std::vector<std::pair<Expr, OutputSymbols::Derivative>> list;
  for (Expr s : occurring) {
    const auto d = problem.symbols->find(s);
    if (!d) continue;
    if (d->orders.total() > symbolic::kMaxOrder)
      throw Error(
          fmt::format("derivatives above order {} are not supported (the problem needs one of order {})",
                      symbolic::kMaxOrder, d->orders.total()));
    list.emplace_back(s, *d);
  }
  return list;
}

std::vector<Source> sources_of(const Problem& problem, const std::vector<Expr>& occurring,
                               std::span<const std::string> columns,
                               std::span<const std::pair<Expr, OutputSymbols::Derivative>> outputs,
                               std::span<const std::pair<Expr, OutputSymbols::TableDerivative>> tables,
                               const Collapse& collapse, const JetSet& jets) {
  std::vector<Source> sources;
  const auto add_if_used = [&](Expr s, Slot slot) {
    if (contains(occurring, s)) sources.emplace_back(s, slot);
  };
  for (int i = 0; i < problem.dimensions(); ++i)
    add_if_used(problem.symbols->coordinate(i), {Slot::What::coordinate, i});
  for (std::size_t k = 0; k < columns.size(); ++k)
    add_if_used(column_symbol(*problem.graph, columns[k]), {Slot::What::column, static_cast<int>(k)});
  for (std::size_t k = 0; k < tables.size(); ++k)
    add_if_used(tables[k].first, {Slot::What::column, static_cast<int>(columns.size() + k)});
  for (std::size_t k = 0; k < problem.unknowns.size(); ++k)
    add_if_used(problem.graph->symbol(problem.unknowns[k].name), {Slot::What::unknown, static_cast<int>(k)});
  for (const auto& [s, d] : outputs)
    sources.push_back({s, {Slot::What::output, d.output, *jets.component(d.orders)}});
  for (std::size_t k = 0; k < collapse.symbols.size(); ++k)
    if (collapse.symbols[k])
      add_if_used(collapse.symbols[k], {Slot::What::output, static_cast<int>(k), jets.laplacian_component()});
  return sources;
}

// Derivatives of sum_e bar_e r_e with respect to network outputs and unknowns.
void compile_adjoint(symbolic::Graph& graph, const std::vector<Expr>& expressions,
                     const std::vector<Source>& sources, CompiledPointSet& set) {
  Expr weighted = graph.constant(0);
  std::vector<Expr> bars;
  for (std::size_t e = 0; e < expressions.size(); ++e) {
    bars.push_back(graph.symbol(fmt::format("bar:{}", e)));
    weighted = weighted + bars[e] * expressions[e];
  }
  std::vector<Expr> adjoint;
  for (const auto& [s, slot] : sources) {
    if (slot.what != Slot::What::output && slot.what != Slot::What::unknown) continue;
    adjoint.push_back(symbolic::differentiate(weighted, s));
    set.adjoint_outputs.push_back(
        {slot.what == Slot::What::output ? Slot::What::output_bar : Slot::What::unknown_bar, slot.index,
         slot.component});
  }
  const auto occurring = symbolic::symbols_of(adjoint);
  std::vector<Expr> symbols;
  for (const auto& [s, slot] : sources)
    if (contains(occurring, s)) {
      symbols.push_back(s);
      set.adjoint_inputs.push_back(slot);
    }
  for (std::size_t e = 0; e < bars.size(); ++e)
    if (contains(occurring, bars[e])) {
      symbols.push_back(bars[e]);
      set.adjoint_inputs.push_back({Slot::What::bar, static_cast<int>(e)});
    }
  set.adjoint = symbolic::compile(adjoint, symbols);
}

}  // namespace

CompiledPointSet compile_set(const Problem& problem, const net::Tape& tape, std::span<const Expr> given,
                             std::span<const std::string> columns) {
  std::vector<Expr> expressions(given.begin(), given.end());
  const Collapse collapse = CollapseSearch(problem, expressions).find();
  expressions = symbolic::substitute(expressions, collapse.replacements);
  const auto occurring = symbolic::symbols_of(expressions);
  const auto outputs = output_derivatives(problem, occurring);

  CompiledPointSet set;
  std::vector<MultiIndex> wanted;
  for (const auto& [s, d] : outputs) wanted.push_back(d.orders);
  set.jets = JetSet::closure(problem.dimensions(), wanted, collapse.weights);
  set.tape = net::compile_tape(tape, set.jets);
  compile_inputs(problem, set);
  const auto tables = problem.symbols->tables_in(given);
  for (const auto& [s, d] : tables) set.tables.push_back(d);

  const auto sources = sources_of(problem, occurring, columns, outputs, tables, collapse, set.jets);
  std::vector<Expr> symbols;
  for (const auto& [s, slot] : sources) {
    symbols.push_back(s);
    set.values_inputs.push_back(slot);
  }
  for (Expr s : occurring)
    if (!contains(symbols, s)) throw Error(fmt::format("'{}' has no value on this point set", s.str()));
  set.values = symbolic::compile(expressions, symbols);
  compile_adjoint(*problem.graph, expressions, sources, set);
  return set;
}

void fill_tables(const Problem& problem, std::span<const OutputSymbols::TableDerivative> tables,
                 std::size_t own, Points& points) {
  points.columns.resize(own);
  for (const auto& [table, orders] : tables)
    points.columns.push_back(problem.tables[table]->evaluate(points, orders));
}

std::vector<std::uint32_t> evaluation_key(const Problem& problem, std::span<const Expr> expressions,
                                          std::span<const std::string> columns) {
  std::vector<std::uint32_t> key{static_cast<std::uint32_t>(expressions.size())};
  for (Expr e : expressions) key.push_back(e.id());
  for (const auto& column : columns) key.push_back(column_symbol(*problem.graph, column).id());
  return key;
}

}  // namespace lather::pde
