#include "lather/pde/output_symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "lather/core/error.hpp"
#include "lather/symbolic/differentiate.hpp"

namespace lather::pde {

using symbolic::Expr;
using symbolic::MultiIndex;

namespace {

bool jumps(symbolic::Kind kind) { return kind == symbolic::Kind::step || kind == symbolic::Kind::sign; }

bool has_kinks(symbolic::Kind kind) {
  using symbolic::Kind;
  return jumps(kind) || kind == Kind::abs || kind == Kind::min || kind == Kind::max;
}

}  // namespace

OutputSymbols::OutputSymbols(symbolic::Graph& graph, std::vector<std::string> coordinates,
                             std::vector<std::string> outputs)
    : graph_(&graph), coordinate_names_(std::move(coordinates)), output_names_(std::move(outputs)) {
  for (const auto& name : coordinate_names_) coordinates_.push_back(graph.symbol(name));
}

int OutputSymbols::add_coordinate(std::string name) {
  assert(coordinates_.size() < symbolic::kMaxDimensions);
  coordinates_.push_back(graph_->symbol(name));
  coordinate_names_.push_back(std::move(name));
  return static_cast<int>(coordinates_.size()) - 1;
}

int OutputSymbols::add_output(std::string name) {
  output_names_.push_back(std::move(name));
  return static_cast<int>(output_names_.size()) - 1;
}

// Orders keep "x" + "t" apart from "xt".
std::string OutputSymbols::suffix(const MultiIndex& orders) const {
  std::string text;
  for (std::size_t i = 0; i < coordinate_names_.size(); ++i)
    if (orders.order[i] > 0) text += fmt::format(":{}{}", coordinate_names_[i], orders.order[i]);
  return text;
}

Expr OutputSymbols::output(int k, const MultiIndex& orders) {
  // The prefix keeps network outputs apart from coordinates and unknowns of the same name.
  const Expr symbol = graph_->symbol("net:" + output_names_[k] + suffix(orders));
  derivatives_.emplace(symbol, Derivative{k, orders});
  return symbol;
}

int OutputSymbols::add_table(std::string name, std::vector<int> coordinates) {
  tables_.push_back({std::move(name), std::move(coordinates)});
  return static_cast<int>(tables_.size()) - 1;
}

Expr OutputSymbols::table(int k, const MultiIndex& orders) {
  const Expr symbol = graph_->symbol("table:" + tables_[k].name + suffix(orders));
  table_derivatives_.emplace(symbol, TableDerivative{k, orders});
  return symbol;
}

std::optional<OutputSymbols::TableDerivative> OutputSymbols::find_table(Expr symbol) const {
  const auto it = table_derivatives_.find(symbol);
  if (it == table_derivatives_.end()) return {};
  return it->second;
}

std::vector<std::pair<Expr, OutputSymbols::TableDerivative>> OutputSymbols::tables_in(
    std::span<const Expr> expressions) const {
  std::vector<std::pair<Expr, TableDerivative>> list;
  if (tables_.empty()) return list;
  for (Expr s : symbolic::symbols_of(expressions))
    if (const auto d = find_table(s)) list.emplace_back(s, *d);
  return list;
}

std::optional<OutputSymbols::Derivative> OutputSymbols::find(Expr symbol) const {
  const auto it = derivatives_.find(symbol);
  if (it == derivatives_.end()) return {};
  return it->second;
}

Expr OutputSymbols::derivative_of_symbol(Expr s, int coordinate) {
  if (s == coordinates_[coordinate]) return graph_->constant(1);
  if (const auto d = find(s)) return output(d->output, d->orders.plus(coordinate));
  if (const auto d = find_table(s)) {
    const auto& [name, depends_on] = tables_[d->table];
    if (std::find(depends_on.begin(), depends_on.end(), coordinate) == depends_on.end()) return {};
    if (d->orders.order[coordinate] == kMaxTableOrder)
      throw Error(
          fmt::format("the table '{}' has no derivative of order {} in '{}': it is interpolated by cubic "
                      "splines, whose second derivatives are the last continuous ones",
                      name, kMaxTableOrder + 1, coordinate_names_[coordinate]));
    return table(d->table, d->orders.plus(coordinate));
  }
  return {};
}

Expr OutputSymbols::total_derivative(Expr e, int coordinate) {
  note_kinks(e, coordinate);
  return symbolic::differentiate(e, [&](Expr s) { return derivative_of_symbol(s, coordinate); });
}

void OutputSymbols::note_kinks(Expr e, int coordinate) {
  const auto varies = [&](Expr part) {
    const auto symbols = symbolic::symbols_of(std::span(&part, 1));
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](Expr s) { return s == coordinates_[coordinate] || find(s) || find_table(s); });
  };
  for (Expr part : symbolic::topological_order(std::span(&e, 1))) {
    if (!has_kinks(part.kind()) || !varies(part)) continue;
    if (std::none_of(kinks_.begin(), kinks_.end(),
                     [&](const Kink& k) { return k.function == part && k.coordinate == coordinate; }))
      kinks_.push_back({part, coordinate});
    if (jumps(part.kind())) note_flux(e, coordinate);
  }
}

void OutputSymbols::note_flux(Expr e, int coordinate) {
  const auto symbols = symbolic::symbols_of(std::span(&e, 1));
  const bool of_outputs =
      std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return find(s).has_value(); });
  if (of_outputs && std::none_of(fluxes_.begin(), fluxes_.end(),
                                 [&](const Flux& f) { return f.flux == e && f.coordinate == coordinate; }))
    fluxes_.push_back({e, coordinate});
}

}  // namespace lather::pde
