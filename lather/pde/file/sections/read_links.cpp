#include "lather/pde/file/sections/read_links.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/file/problem_tables.hpp"
#include "lather/pde/file/sections/read_where.hpp"
#include "lather/pde/sampling/region.hpp"

namespace lather::pde {

using symbolic::Expr;

namespace {

double weight_number(const TomlValue& table, ProblemBuilder& builder) {
  const TomlValue* value = table.find("weight");
  return value ? read_number(*value, "weight", builder) : 1;
}

std::int64_t integer_key(const TomlValue& table, std::string_view key, std::int64_t otherwise,
                         std::int64_t least, std::int64_t most) {
  const TomlValue* value = table.find(key);
  if (!value) return otherwise;
  const std::int64_t n = value->as_integer(key);
  if (n < least || n > most)
    throw Error(value->where, fmt::format("{} must lie between {} and {}, not {}", key, least, most, n));
  return n;
}

// Coordinates that are left after the integration, such as time.
std::vector<std::size_t> left_over(const Piece& piece) {
  const auto& space = piece.region->shapes()->coordinates;
  std::vector<std::size_t> left;
  for (std::size_t k = 0; k < piece.size(); ++k)
    if (std::isnan(piece[k]) && std::find(space.begin(), space.end(), static_cast<int>(k)) == space.end())
      left.push_back(k);
  return left;
}

// One row per node: coordinates, then the column.
void add_rows(std::vector<std::vector<double>>& rows, const Points& points,
              const std::vector<double>& column) {
  for (std::size_t i = 0; i < points.count(); ++i) {
    auto& row = rows.emplace_back();
    for (const auto& c : points.coordinates) row.push_back(c[i]);
    row.push_back(column[i]);
    for (const auto& c : points.columns) row.push_back(c[i]);
  }
}

// Names of normals and distances that an integrand may use.
std::vector<std::string> used_columns(const Piece& piece, const TomlValue& value, ProblemBuilder& builder,
                                      std::vector<Expr>& integrands) {
  std::vector<std::string> declared, used;
  for (const auto& name : region_columns(*piece.region->shapes()))
    if (!builder.names().knows(name)) declared.push_back(name);
  builder.begin_data(declared);
  try {
    for (const auto& text : value.as_texts("integrand")) integrands.push_back(builder.parse(text));
  } catch (...) {
    for (const auto& name : declared) builder.names().remove(name);
    throw;
  }
  for (const auto& name : declared) builder.names().remove(name);
  for (const auto& name : declared)
    for (Expr s : symbolic::symbols_of(integrands))
      if (s == column_symbol(*builder.problem().graph, name)) used.push_back(name);
  return used;
}

}  // namespace

void read_integral(const TomlValue& table, const std::string& name, ProblemBuilder& builder) {
  const std::string what = "[[integral]]";
  only_problem_keys(table, what, {"name", "where", "integrand", "equals", "weight", "nodes", "times"});
  const SourceText& text = table.required("where", what).as_text("where");
  auto pieces = read_where(text, builder);
  if (pieces.size() != 1)
    throw Error(text.where, "an integral is over one place; a sum of several is not available");
  Piece piece = pieces[0].region ? pieces[0] : with_region(pieces[0], text, builder);
  const auto nodes = static_cast<int>(integer_key(table, "nodes", 24, 2, 200));
  const std::int64_t times = integer_key(table, "times", 16, 2, 1000);

  const TomlValue& value = table.required("integrand", what);
  std::vector<Expr> integrands;
  const auto columns = used_columns(piece, value, builder, integrands);
  const TomlValue& equals = table.required("equals", what);
  const Expr target = equals.is_number() ? builder.problem().graph->constant(equals.real)
                                         : builder.parse(equals.as_text("equals"));
  builder.names().require_coordinates_only(target, true, equals.where, "the value of an integral");

  const auto left = left_over(piece);
  if (left.size() > 1)
    throw Error(text.where,
                "an integral leaves at most one coordinate, such as time; fix the others in `where`");
  std::vector<std::vector<double>> rows;
  std::size_t group = 0;
  const std::int64_t groups = left.empty() ? 1 : times;
  for (std::int64_t g = 0; g < groups; ++g) {
    if (!left.empty()) {
      const auto [low, high] = builder.problem().domain[left[0]];
      piece[left[0]] = low + (high - low) * static_cast<double>(g) / static_cast<double>(groups - 1);
    }
    const auto rule = piece.region->quadrature(piece, nodes, columns);
    if (g > 0 && rule.weights.size() != group)
      throw Error(text.where, "the place of an integral must not change with time");
    group = rule.weights.size();
    constexpr std::size_t kMostNodes = 1'000'000;
    if (group * static_cast<std::size_t>(groups) > kMostNodes)
      throw Error(text.where,
                  fmt::format("{} nodes of quadrature; at most {} are used: lower `nodes` or `times`",
                              group * static_cast<std::size_t>(groups), kMostNodes));
    add_rows(rows, rule.points, rule.weights);
  }
  const Expr weight = column_symbol(*builder.problem().graph, "quadrature");
  std::vector<Expr> residuals;
  for (const Expr e : integrands) residuals.push_back(weight * e - target / static_cast<double>(group));
  std::vector<std::string> all{"quadrature"};
  all.insert(all.end(), columns.begin(), columns.end());
  builder.grouped(name, std::move(all), std::move(rows), group, residuals, weight_number(table, builder),
                  value.where);
}

void read_linked(const TomlValue& table, const std::string& name, ProblemBuilder& builder) {
  const std::string what = "[[condition]]";
  only_problem_keys(table, what, {"name", "where", "linked", "residual", "weight", "points"});
  const SourceText &first_text = table.required("where", what).as_text("where"),
                   &second_text = table.required("linked", what).as_text("linked");
  const auto first = read_where(first_text, builder), second = read_where(second_text, builder);
  const auto fixes = [](const Piece& a, const Piece& b) {
    for (std::size_t k = 0; k < a.size(); ++k)
      if (std::isnan(a[k]) != std::isnan(b[k])) return false;
    return std::any_of(a.begin(), a.end(), [](double v) { return !std::isnan(v); });
  };
  const auto carried = [](const Piece& p) {
    return !p.region || p.region->carrier() == Region::Carrier::inside;
  };
  if (first.size() != 1 || second.size() != 1 || !fixes(first[0], second[0]) || !carried(first[0]) ||
      !carried(second[0]))
    throw Error(second_text.where,
                "linked places hold the same coordinates fixed, as in where = \"x = -1\" and linked = "
                "\"x = 1\"");
  const auto count = static_cast<std::size_t>(integer_key(table, "points", 128, 1, 100'000));
  const Points here = points_in(builder.problem().domain, first[0], SamplingMethod::sobol, count, 0, 0);
  Points there = here;
  for (std::size_t k = 0; k < first[0].size(); ++k)
    if (!std::isnan(second[0][k]))
      std::fill(there.coordinates[k].begin(), there.coordinates[k].end(), second[0][k]);
  if (const auto& geometry = builder.problem().geometry)
    for (std::size_t i = 0; i < there.count(); ++i)
      if (geometry->domain->signed_distance(geometry->place(there, i)) < -geometry->tolerance())
        throw Error(second_text.where, "a point of `where` has no partner in the domain at `linked`");
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < here.count(); ++i)
    for (const Points* points : {&here, static_cast<const Points*>(&there)}) {
      auto& row = rows.emplace_back();
      for (const auto& c : points->coordinates) row.push_back(c[i]);
      row.push_back(points == &here ? 1 : -1);
    }
  const Expr side = column_symbol(*builder.problem().graph, "side");
  std::vector<Expr> residuals;
  const TomlValue& value = table.required("residual", what);
  for (const auto& text : value.as_texts("residual")) residuals.push_back(side * builder.parse(text));
  note_kinks(builder, value.where);
  builder.grouped(name, {"side"}, std::move(rows), 2, residuals, weight_number(table, builder), value.where);
}

}  // namespace lather::pde
