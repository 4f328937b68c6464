#include "lather/pde/problem_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "lather/pde/coefficient_table.hpp"
#include "lather/pde/sampling/region.hpp"
#include "lather/symbolic/differentiate.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::pde {

using symbolic::Expr;

namespace {

Problem empty_problem(std::string name, std::string title) {
  Problem problem;
  problem.name = std::move(name);
  problem.title = std::move(title);
  problem.symbols =
      std::make_shared<OutputSymbols>(*problem.graph, std::vector<std::string>{}, std::vector<std::string>{});
  return problem;
}

void require_finite(double value, std::string_view what, const SourceLocation& where) {
  if (!std::isfinite(value)) throw Error(where, fmt::format("{} is not finite", what));
}

}  // namespace

ProblemBuilder::ProblemBuilder(std::string name, std::string title)
    : problem_(empty_problem(std::move(name), std::move(title))),
      names_(*problem_.graph, *problem_.symbols) {}

Expr ProblemBuilder::coordinate(const std::string& name, double low, double high,
                                const SourceLocation& where) {
  if (problem_.dimensions() == symbolic::kMaxDimensions)
    throw Error(where, fmt::format("at most {} coordinates are supported", symbolic::kMaxDimensions));
  require_finite(low, fmt::format("the low end of '{}'", name), where);
  require_finite(high, fmt::format("the high end of '{}'", name), where);
  if (!(low < high))
    throw Error(where,
                fmt::format("the domain of '{}' is empty: its ends [{}, {}] must increase", name, low, high));
  const Expr x = problem_.graph->symbol(name);
  names_.declare(NameKind::coordinate, name, x, where);
  problem_.symbols->add_coordinate(name);
  problem_.domain.push_back({low, high});
  periodic_.push_back(false);
  fed_by_inputs_.push_back(false);
  return x;
}

Expr ProblemBuilder::parameter(const std::string& name, double value, const SourceLocation& where) {
  require_finite(value, fmt::format("the parameter '{}'", name), where);
  const Expr e = problem_.graph->constant(value);
  names_.declare(NameKind::parameter, name, e, where);
  return e;
}

Expr ProblemBuilder::unknown(const std::string& name, double initial, std::optional<double> known_value,
                             const SourceLocation& where) {
  require_finite(initial, fmt::format("the initial value of '{}'", name), where);
  if (known_value) require_finite(*known_value, fmt::format("the known value of '{}'", name), where);
  const Expr e = problem_.graph->symbol(name);
  names_.declare(NameKind::unknown, name, e, where);
  problem_.unknowns.push_back({name, initial, known_value});
  return e;
}

Expr ProblemBuilder::output(const std::string& name, const SourceLocation& where) {
  const Expr e = problem_.symbols->output(problem_.symbols->add_output(name));
  names_.declare(NameKind::output, name, e, where);
  return e;
}

Expr ProblemBuilder::field(const std::string& name, const SourceLocation& where) {
  return field(name, problem_.symbols->output(problem_.symbols->add_output(name)), where);
}

Expr ProblemBuilder::field(const std::string& name, Expr ansatz, const SourceLocation& where) {
  names_.declare(NameKind::field, name, ansatz, where);
  problem_.fields.push_back({name, ansatz});
  return ansatz;
}

Expr ProblemBuilder::let(const std::string& name, Expr meaning, const SourceLocation& where) {
  names_.declare(NameKind::let, name, meaning, where);
  return meaning;
}

Expr ProblemBuilder::table(std::shared_ptr<const CoefficientTable> table, const SourceLocation& where) {
  std::vector<int> coordinates;
  for (const auto& [coordinate, name, at] : table->axes()) {
    coordinates.push_back(coordinate);
    const auto [low, high] = problem_.domain[coordinate];
    const double slack = 1e-9 * (at.back() - at.front());
    if (at.front() > low + slack || at.back() < high - slack)
      throw Error(where,
                  fmt::format("the table '{}' knows {} in [{}, {}], the domain is [{}, {}]: a table is not "
                              "continued beyond its grid",
                              table->name(), name, at.front(), at.back(), low, high));
  }
  const Expr e = problem_.symbols->table(problem_.symbols->add_table(table->name(), std::move(coordinates)));
  names_.declare(NameKind::table, table->name(), e, where);
  problem_.tables.push_back(std::move(table));
  return e;
}

Expr ProblemBuilder::physical(const std::string& name, Expr map, const SourceLocation& where) {
  names_.require_coordinates_only(map, true, where, fmt::format("the physical coordinate '{}'", name));
  names_.declare(NameKind::physical, name, map, where);
  return map;
}

void ProblemBuilder::define(NameKind kind, const std::string& name, const SourceText& text,
                            const SourceLocation& where) {
  names_.define(kind, name, text, where);
  if (kind == NameKind::field) problem_.fields.push_back({name, {}});
}

void ProblemBuilder::resolve() {
  names_.resolve();
  for (auto& field : problem_.fields)
    if (!field.value) field.value = names_.name(field.name, {});
}

int ProblemBuilder::coordinate_index(const std::string& name, const SourceLocation& where) const {
  const auto& names = problem_.symbols->coordinate_names();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) throw Error(where, unknown_name_message("coordinate", name, names));
  return static_cast<int>(it - names.begin());
}

Piece ProblemBuilder::face(const std::vector<std::pair<std::string, double>>& fixed,
                           const SourceLocation& where) const {
  Piece piece(problem_.domain.size(), std::numeric_limits<double>::quiet_NaN());
  for (const auto& [name, value] : fixed) {
    const int i = coordinate_index(name, where);
    if (!std::isnan(piece[i])) throw Error(where, fmt::format("the coordinate '{}' is fixed twice", name));
    const auto [low, high] = problem_.domain[i];
    // "1/3" and "0.333333333333333" are the same end. The tolerance is relative to the end itself, so that
    // x = 1 is not the end -1 of a domain that reaches to 1e13.
    const auto is = [value = value](double end) { return std::abs(value - end) <= 1e-12 * std::abs(end); };
    if (!(value >= low && value <= high) && !is(low) && !is(high))
      throw Error(where, fmt::format("{} = {} lies outside the domain [{}, {}]", name, value, low, high));
    piece[i] = is(low) ? low : is(high) ? high : value;
  }
  return piece;
}

int ProblemBuilder::point_set(PointSet set, const SourceLocation& where) {
  if (set.kind != PointSet::Kind::interior && set.name == "interior")
    throw Error(where, "the name 'interior' is taken by the points of the equations");
  problem_.point_sets.push_back(std::move(set));
  return static_cast<int>(problem_.point_sets.size()) - 1;
}

void ProblemBuilder::add_terms(const std::string& name, int point_set, const std::vector<Expr>& residuals,
                               double weight, const SourceLocation& where) {
  if (!(weight >= 0) || !std::isfinite(weight))
    throw Error(where, fmt::format("the weight of '{}' must be a non-negative number", name));
  if (residuals.empty()) throw Error(where, fmt::format("'{}' has no residual", name));
  add_columns(problem_.point_sets[point_set], residuals, where);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const std::string term = residuals.size() == 1 ? name : fmt::format("{}.{}", name, i + 1);
    if (std::any_of(problem_.terms.begin(), problem_.terms.end(),
                    [&](const Term& t) { return t.name == term; }))
      throw Error(where, fmt::format("the name '{}' is used twice", term));
    const auto symbols = symbolic::symbols_of(std::span(&residuals[i], 1));
    const bool trains = std::any_of(symbols.begin(), symbols.end(), [&](Expr s) {
      return problem_.symbols->find(s) ||
             std::any_of(problem_.unknowns.begin(), problem_.unknowns.end(),
                         [&](const Unknown& u) { return u.name == s.node().name; });
    });
    if (!trains)
      throw Error(where,
                  fmt::format("the residual of '{}' contains no field: nothing can make it zero", term));
    problem_.terms.push_back({term, point_set, residuals[i], weight});
  }
}

void ProblemBuilder::equation(const std::string& name, const std::vector<Expr>& residuals, double weight,
                              const SourceLocation& where) {
  const auto& sets = problem_.point_sets;
  const auto interior = std::find_if(sets.begin(), sets.end(),
                                     [](const PointSet& s) { return s.kind == PointSet::Kind::interior; });
  std::vector<Piece> pieces;
  if (problem_.geometry) {
    const auto& domain = problem_.geometry->domain;
    Piece piece(problem_.domain.size(), std::numeric_limits<double>::quiet_NaN());
    const auto region = std::make_shared<Region>(problem_.geometry, Region::Carrier::inside, domain, Filter{},
                                                 domain->bounds(), "the domain");
    if (interior == sets.end()) region->measure(problem_.domain, piece);
    piece.region = region;
    pieces.push_back(piece);
  }
  const int set = interior != sets.end()
                      ? static_cast<int>(interior - sets.begin())
                      : point_set({"interior", PointSet::Kind::interior, pieces, {}, {}}, where);
  add_terms(name, set, residuals, weight, where);
}

void ProblemBuilder::equation_in(const std::string& name, const Piece& piece,
                                 const std::vector<Expr>& residuals, double weight,
                                 const SourceLocation& where) {
  add_terms(name, point_set({name, PointSet::Kind::interior, {piece}, {}, {}}, where), residuals, weight,
            where);
}

void ProblemBuilder::geometry(std::shared_ptr<const Geometry> geometry) {
  problem_.geometry = std::move(geometry);
}

// Geometry values that the residuals use.
void ProblemBuilder::add_columns(PointSet& set, const std::vector<Expr>& residuals,
                                 const SourceLocation& where) const {
  if (set.kind == PointSet::Kind::data || set.pieces.empty() || !set.pieces[0].region) return;
  const auto known = region_columns(*set.pieces[0].region->shapes());
  for (Expr s : symbolic::symbols_of(residuals))
    for (const auto& name : known)
      if (s.node().name == "data:" + name &&
          std::find(set.columns.begin(), set.columns.end(), name) == set.columns.end()) {
        const bool on_boundary = std::all_of(set.pieces.begin(), set.pieces.end(), [](const Piece& piece) {
          return piece.region->carrier() == Region::Carrier::boundary;
        });
        if (name == "arc" && !on_boundary)
          throw Error(where, "'arc' is the length along a boundary: it has no value on '" + set.name + "'");
        set.columns.push_back(name);
      }
}

void ProblemBuilder::condition(const std::string& name, const std::vector<Piece>& pieces,
                               const std::vector<Expr>& residuals, double weight,
                               const SourceLocation& where) {
  if (pieces.empty()) throw Error(where, fmt::format("the condition '{}' holds nowhere", name));
  for (const Piece& piece : pieces)
    if (!piece.region && std::all_of(piece.begin(), piece.end(), [](double x) { return std::isnan(x); }))
      throw Error(where, fmt::format("the condition '{}' must fix at least one coordinate", name));
  add_terms(name, point_set({name, PointSet::Kind::boundary, pieces, {}, {}}, where), residuals, weight,
            where);
}

void ProblemBuilder::begin_data(const std::vector<std::string>& columns, const SourceLocation& where) {
  for (const auto& column : columns)
    names_.declare(NameKind::column, column, problem_.graph->symbol("data:" + column), where);
}

void ProblemBuilder::data(const std::string& name, std::vector<std::string> columns,
                          std::vector<std::vector<double>> rows, const std::vector<Expr>& residuals,
                          double weight, const SourceLocation& where) {
  for (const auto& column : columns) names_.remove(column);
  if (rows.empty()) throw Error(where, fmt::format("the data '{}' has no rows", name));
  add_terms(name, point_set({name, PointSet::Kind::data, {}, std::move(columns), std::move(rows)}, where),
            residuals, weight, where);
}

void ProblemBuilder::grouped(const std::string& name, std::vector<std::string> columns,
                             std::vector<std::vector<double>> rows, std::size_t group,
                             const std::vector<Expr>& residuals, double weight, const SourceLocation& where) {
  PointSet set{name, PointSet::Kind::data, {}, std::move(columns), std::move(rows)};
  set.group = group;
  set.hold_out = false;
  add_terms(name, point_set(std::move(set), where), residuals, weight, where);
}

void ProblemBuilder::periodic(const std::string& coordinate, const SourceLocation& where) {
  const int i = coordinate_index(coordinate, where);
  if (periodic_[i]) throw Error(where, fmt::format("the coordinate '{}' is listed twice", coordinate));
  periodic_[i] = true;
}

// The input and its slope, compared at some values of the other coordinates.
void ProblemBuilder::require_same_at_both_ends(Expr input, int coordinate,
                                               const SourceLocation& where) const {
  constexpr int kPlaces = 5;
  constexpr double kRounding = 1e-9;
  const Expr x = problem_.symbols->coordinate(coordinate);
  const std::vector<Expr> both = {input, symbolic::differentiate(input, x)};
  for (int place = 0; place < kPlaces; ++place) {
    symbolic::ExprMap<double> at;
    for (int i = 0; i < problem_.dimensions(); ++i) {
      const auto [low, high] = problem_.domain[i];
      at[problem_.symbols->coordinate(i)] = low + (high - low) * (place + 0.5) / kPlaces;
    }
    at[x] = problem_.domain[coordinate].low;
    const auto first = symbolic::evaluate<double>(both, at);
    at[x] = problem_.domain[coordinate].high;
    const auto last = symbolic::evaluate<double>(both, at);
    for (std::size_t k = 0; k < both.size(); ++k)
      if (!(std::abs(first[k] - last[k]) <= kRounding * (1 + std::abs(first[k]))))
        throw Error(where,
                    fmt::format("'{0}' is periodic, but {1} of this input is {2:.3g} at one end of {0} "
                                "and {3:.3g} at the other",
                                x.node().name, k == 0 ? "the value" : "the slope", first[k], last[k]));
  }
}

void ProblemBuilder::network_input(Expr input, const SourceLocation& where) {
  names_.require_coordinates_only(input, false, where, "an input of the network");
  for (Expr s : symbolic::symbols_of(std::span(&input, 1))) {
    const int i = coordinate_index(s.node().name, where);
    if (!periodic_[i]) continue;
    require_same_at_both_ends(input, i, where);
    fed_by_inputs_[i] = true;
  }
  inputs_.push_back(input);
}

bool ProblemBuilder::feeds_cosines() const {
  for (std::size_t i = 0; i < periodic_.size(); ++i)
    if (periodic_[i] && !fed_by_inputs_[i]) return true;
  return false;
}

void ProblemBuilder::exact(const std::string& field, Expr value, const SourceLocation& where) {
  std::vector<std::string> known;
  for (const auto& f : problem_.fields) known.push_back(f.name);
  if (std::find(known.begin(), known.end(), field) == known.end())
    throw Error(where, unknown_name_message("field", field, known));
  names_.require_coordinates_only(value, false, where, fmt::format("the closed form of '{}'", field));
  problem_.exact.push_back({field, value});
}

std::vector<Expr> ProblemBuilder::default_inputs() const {
  std::vector<Expr> inputs;
  for (int i = 0; i < problem_.dimensions(); ++i) {
    const Expr x = problem_.symbols->coordinate(i);
    const auto [low, high] = problem_.domain[i];
    if (periodic_[i]) {
      if (fed_by_inputs_[i]) continue;
      for (int k = 1; k <= harmonics_; ++k) {
        const Expr angle = (2 * std::numbers::pi * k / (high - low)) * (x - low);
        inputs.push_back(cos(angle));
        inputs.push_back(sin(angle));
      }
    } else if (inputs_.empty()) {
      inputs.push_back(normalize_ ? (2 / (high - low)) * (x - low) - 1.0 : x);
    }
  }
  inputs.insert(inputs.end(), inputs_.begin(), inputs_.end());
  return inputs;
}

Problem ProblemBuilder::build() {
  if (problem_.domain.empty()) throw Error("the problem has no coordinates");
  if (problem_.fields.empty()) throw Error("the problem has no fields");
  if (problem_.terms.empty()) throw Error("the problem has no equation, condition or data");
  std::vector<Expr> residuals;
  for (const auto& term : problem_.terms) residuals.push_back(term.residual);
  std::vector<bool> output_used(problem_.outputs());
  std::vector<std::string> used;
  for (Expr s : symbolic::symbols_of(residuals)) {
    if (const auto d = problem_.symbols->find(s))
      output_used[d->output] = true;
    else
      used.push_back(s.node().name);
  }
  for (int k = 0; k < problem_.outputs(); ++k)
    if (const auto& name = problem_.symbols->output_names()[k]; !output_used[k])
      throw Error(names_.where(name), fmt::format("nothing determines '{}': no residual contains it", name));
  for (const auto& unknown : problem_.unknowns)
    if (std::find(used.begin(), used.end(), unknown.name) == used.end())
      throw Error(names_.where(unknown.name),
                  fmt::format("nothing determines the unknown '{}': no residual contains it", unknown.name));
  problem_.network_inputs = default_inputs();
  problem_.periodic = periodic_;
  return problem_;
}

}  // namespace lather::pde
