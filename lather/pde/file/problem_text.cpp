#include "lather/pde/file/problem_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "lather/pde/coefficient_table.hpp"
#include "lather/pde/sampling/region.hpp"

namespace lather::pde {

using symbolic::Expr;

namespace {

// "u_xxt"; D(u, x, x, t) would be exact for coordinates with long names, but this is for reading.
std::string with_derivative(const Problem& problem, const std::string& name,
                            const symbolic::MultiIndex& orders) {
  std::string suffix;
  for (int i = 0; i < problem.dimensions(); ++i)
    for (int k = 0; k < orders.order[i]; ++k) suffix += problem.symbols->coordinate_names()[i];
  return name + (suffix.empty() ? "" : "_" + suffix);
}
std::string derivative_name(const Problem& problem, const OutputSymbols::Derivative& d) {
  return with_derivative(problem, problem.symbols->output_names()[d.output], d.orders);
}

// "kappa over x in [0, 1] (41), y in [0, 2] (21), from kappa.csv"
std::string table_text(const CoefficientTable& table) {
  std::vector<std::string> axes;
  for (const auto& axis : table.axes())
    axes.push_back(
        fmt::format("{} in [{}, {}] ({})", axis.name, axis.at.front(), axis.at.back(), axis.at.size()));
  return fmt::format("{} over {}, from {}", table.name(), fmt::join(axes, ", "),
                     std::filesystem::path(table.file()).filename().string());
}

// Nodes of the expression written as a tree: the cost of printing it.
double tree_size(Expr e) {
  symbolic::ExprMap<double> size;
  for (Expr part : symbolic::topological_order(std::span(&e, 1))) {
    double total = 1;
    for (Expr a : part.arguments()) total += size.at(a);
    size[part] = total;
  }
  return size.at(e);
}

std::string where_text(const Problem& problem, const PointSet& set) {
  switch (set.kind) {
    case PointSet::Kind::interior:
      return set.pieces.empty() ? "in the interior" : "in " + set.pieces[0].region->text();
    case PointSet::Kind::data:
      if (set.group == 1) return fmt::format("at {} points of data", set.rows.size());
      if (!set.columns.empty() && set.columns[0] == "side")
        return fmt::format("between {} pairs of places", set.rows.size() / set.group);
      return fmt::format("{} integral{} of {} nodes", set.rows.size() / set.group,
                         set.rows.size() > set.group ? "s" : "", set.group);
    case PointSet::Kind::boundary: break;
  }
  std::vector<std::string> pieces;
  for (const auto& piece : set.pieces) {
    if (piece.region) {
      pieces.push_back(piece.region->text());
      continue;
    }
    std::vector<std::string> fixed;
    for (int i = 0; i < problem.dimensions(); ++i)
      if (!std::isnan(piece[i]))
        fixed.push_back(fmt::format("{} = {}", problem.symbols->coordinate_names()[i], piece[i]));
    pieces.push_back(fmt::format("{}", fmt::join(fixed, ", ")));
  }
  return fmt::format("at {}", fmt::join(pieces, " or "));
}

}  // namespace

std::string written_out(const Problem& problem, Expr e) {
  constexpr double kReadable = 150;
  if (const double size = tree_size(e); size > kReadable)
    return fmt::format("(an expression of {} operations)",
                       symbolic::topological_order(std::span(&e, 1)).size());
  symbolic::ExprMap<Expr> readable;
  for (Expr s : symbolic::symbols_of(std::span(&e, 1))) {
    if (const auto d = problem.symbols->find(s))
      readable[s] = problem.graph->symbol(derivative_name(problem, *d));
    else if (const auto t = problem.symbols->find_table(s))
      readable[s] =
          problem.graph->symbol(with_derivative(problem, problem.symbols->table_name(t->table), t->orders));
    else if (s.node().name.starts_with("data:"))
      readable[s] = problem.graph->symbol(s.node().name.substr(5));
  }
  return substitute(e, readable).str();
}

std::string derivatives_needed(const Problem& problem, int output) {
  std::vector<Expr> residuals;
  for (const auto& term : problem.terms) residuals.push_back(term.residual);
  std::vector<symbolic::MultiIndex> orders;
  for (Expr s : symbolic::symbols_of(residuals))
    if (const auto d = problem.symbols->find(s); d && d->output == output) orders.push_back(d->orders);
  std::sort(orders.begin(), orders.end(),
            [](const auto& a, const auto& b) { return std::pair(a.total(), b) < std::pair(b.total(), a); });
  std::vector<std::string> names;
  for (const auto& o : orders) names.push_back(derivative_name(problem, {output, o}));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string describe(const Problem& problem) {
  std::string out = problem.name + (problem.title.empty() ? "" : ": " + problem.title) + "\n";
  const auto line = [&](std::string_view label, const std::string& text) {
    out += fmt::format("{:<12} {}\n", label, text);
  };
  const auto& coordinates = problem.symbols->coordinate_names();
  for (int i = 0; i < problem.dimensions(); ++i)
    line(i == 0 ? "coordinates" : "",
         fmt::format("{} in [{}, {}]", coordinates[i], problem.domain[i].low, problem.domain[i].high));
  if (problem.geometry) {
    const geometry::Shape& domain = *problem.geometry->domain;
    const auto area = geometry::measure(domain), edge = geometry::Boundary(domain).measure();
    const auto text = [](const geometry::Measure& m) {
      return m.error > 0 ? fmt::format("{:.5g} +- {:.1g}", m.value, m.error)
                         : fmt::format("{:.10g}", m.value);
    };
    constexpr const char* kInside[] = {"length", "area", "volume"};
    constexpr const char* kBoundary[] = {"ends", "boundary length", "boundary area"};
    line("domain", fmt::format("{} {}, {} {}", kInside[domain.dimension() - 1], text(area),
                               kBoundary[domain.dimension() - 1], text(edge)));
  }
  std::vector<std::string> inputs;
  for (Expr e : problem.network_inputs) inputs.push_back(written_out(problem, e));
  line("network", fmt::format("inputs {}", fmt::join(inputs, ", ")));
  line("", fmt::format("outputs {}", fmt::join(problem.symbols->output_names(), ", ")));
  for (std::size_t i = 0; i < problem.fields.size(); ++i) {
    const std::string value = written_out(problem, problem.fields[i].value);
    line(i == 0 ? "fields" : "",
         value == problem.fields[i].name ? value : problem.fields[i].name + " = " + value);
  }
  for (std::size_t i = 0; i < problem.unknowns.size(); ++i) {
    const auto& u = problem.unknowns[i];
    line(i == 0 ? "unknowns" : "",
         fmt::format("{}, initially {}{}", u.name, u.initial,
                     u.known_value ? fmt::format(", known to be {}", *u.known_value) : ""));
  }
  for (std::size_t i = 0; i < problem.tables.size(); ++i)
    line(i == 0 ? "tables" : "", table_text(*problem.tables[i]));
  for (int k = 0; k < problem.outputs(); ++k)
    line(k == 0 ? "derivatives" : "", derivatives_needed(problem, k));
  out += "terms\n";
  for (const auto& term : problem.terms)
    out += fmt::format(
        "  {} ({}{}): {}\n", term.name, where_text(problem, problem.point_sets[term.point_set]),
        term.weight == 1 ? "" : fmt::format(", weight {}", term.weight), written_out(problem, term.residual));
  if (!problem.exact.empty())
    line("reference", "closed form");
  else if (!problem.reference.solver.empty())
    line("reference", "solver " + problem.reference.solver);
  for (const auto& warning : problem.warnings) line("warning", warning);
  return out;
}

}  // namespace lather::pde
