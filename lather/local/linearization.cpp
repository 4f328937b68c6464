#include "lather/local/linearization.hpp"

#include <algorithm>
#include <cassert>

#include "lather/pde/coefficient_table.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/symbolic/differentiate.hpp"
#include "lather/symbolic/machine/machine.hpp"

namespace lather::local {

using symbolic::Expr;

Linearization::Linearization(const pde::Problem& problem, std::vector<Expr> residuals,
                             const std::vector<std::string>& columns)
    : problem_(&problem), residuals_(std::move(residuals)), own_columns_(columns.size()) {
  tables_ = problem.symbols->tables_in(residuals_);
  std::vector<Expr> symbols;
  const auto add = [&](Expr symbol, Input input) {
    symbols.push_back(symbol);
    inputs_.push_back(input);
  };
  for (int k = 0; k < problem.dimensions(); ++k)
    add(problem.symbols->coordinate(k), {Input::What::coordinate, k});
  int column = 0;
  for (const auto& name : columns)
    add(pde::column_symbol(*problem.graph, name), {Input::What::column, column++});
  for (const auto& [symbol, derivative] : tables_) add(symbol, {Input::What::column, column++});
  std::vector<Expr> jet_symbols;
  for (Expr s : symbolic::symbols_of(residuals_))
    if (const auto d = problem.symbols->find(s)) {
      add(s, {Input::What::jet, static_cast<int>(jets_.size())});
      jets_.push_back({d->output, d->orders});
      jet_symbols.push_back(s);
    }
  std::vector<Expr> outputs = residuals_;
  for (std::size_t r = 0; r < residuals_.size(); ++r)
    for (std::size_t j = 0; j < jets_.size(); ++j) {
      const Expr factor = symbolic::differentiate(residuals_[r], jet_symbols[j]);
      if (factor.is_constant(0)) continue;
      for (Expr s : symbolic::symbols_of(std::span(&factor, 1)))
        linear_ = linear_ && !problem.symbols->find(s);
      factors_.push_back({static_cast<int>(r), jets_[j], factor});
      jet_of_factor_.push_back(static_cast<int>(j));
      outputs.push_back(factor);
    }
  values_ = symbolic::compile(residuals_, symbols);
  all_ = symbolic::compile(outputs, symbols);
}

int Linearization::highest_order(int residual) const {
  int highest = 0;
  for (const auto& factor : factors_)
    if (factor.residual == residual) highest = std::max(highest, factor.jet.orders.total());
  return highest;
}

pde::Points Linearization::with_tables(const pde::Points& points) const {
  pde::Points filled = points;
  assert(filled.columns.size() >= own_columns_);
  std::vector<pde::OutputSymbols::TableDerivative> tables;
  for (const auto& [symbol, derivative] : tables_) tables.push_back(derivative);
  pde::fill_tables(*problem_, tables, own_columns_, filled);
  return filled;
}

std::vector<std::vector<double>> Linearization::jets_of(const pde::Points& points, const State& state) const {
  std::vector<std::vector<double>> values;
  for (const auto& jet : jets_)
    values.push_back(state ? state(jet, points) : std::vector<double>(points.count()));
  return values;
}

std::vector<std::vector<double>> Linearization::run(const symbolic::Program& program,
                                                    const pde::Points& points,
                                                    const std::vector<std::vector<double>>& jets) const {
  const std::size_t count = points.count();
  std::vector<std::vector<double>> results(static_cast<std::size_t>(program.outputs),
                                           std::vector<double>(count));
  if (count == 0) return results;
  const pde::Points filled = with_tables(points);
  std::vector<const double*> in;
  for (const auto& [what, index] : inputs_)
    in.push_back((what == Input::What::coordinate ? filled.coordinates
                  : what == Input::What::column   ? filled.columns
                                                  : jets)[static_cast<std::size_t>(index)]
                     .data());
  std::vector<double*> out;
  for (auto& r : results) out.push_back(r.data());
  symbolic::Machine<double>(program).run(count, in, out);
  return results;
}

Linearization::Values Linearization::at(const pde::Points& points, const State& iterate) const {
  const auto jets = jets_of(points, iterate);
  auto results = run(all_, points, jets);
  const auto middle = results.begin() + static_cast<std::ptrdiff_t>(residuals_.size());
  Values values{{std::make_move_iterator(results.begin()), std::make_move_iterator(middle)},
                {std::make_move_iterator(middle), std::make_move_iterator(results.end())},
                {}};
  if (iterate)
    for (const int j : jet_of_factor_) values.jets.push_back(jets[static_cast<std::size_t>(j)]);
  return values;
}

std::vector<std::vector<double>> Linearization::residuals_at(const pde::Points& points,
                                                             const State& state) const {
  return run(values_, points, jets_of(points, state));
}

}  // namespace lather::local
