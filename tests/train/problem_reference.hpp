#pragma once
// A problem file's residuals with the reference solution in place of the
// network. A wrong sign or factor in an equation leaves a residual as large
// as its terms; the true solution leaves only the reference's error.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <regex>

#include "lather/core/cache_folder.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/reference/reference.hpp"
#include "lather/symbolic/evaluate.hpp"
#include "lather/train/accuracy/accuracy.hpp"

namespace lather::train::test {

struct ReferenceCase {
  std::string problem;
  // Largest residual relative to its largest summand; conditions: relative to 1, the size of the fields.
  double equations, conditions;
  std::string why;                                // these tolerances
  std::vector<pde::Override> overrides = {};      // a coarser reference, a shorter time
  std::map<std::string, pde::Interval> box = {};  // by coordinate: where the reference is accurate
  std::map<std::string, double> terms = {};       // tolerances of terms that differ
  // Compare with the summands at each point, not over all points: for fields that vary by powers of ten.
  bool pointwise = false;
};

// The file without [ansatz] and without the definitions that mention its outputs: the fields are the outputs.
inline std::string without_ansatz(const std::filesystem::path& file,
                                  const std::vector<std::string>& outputs) {
  std::ifstream stream(file);
  std::string text, line, section;
  while (std::getline(stream, line)) {
    if (line.starts_with('[')) section = line;
    bool kept = section != "[ansatz]";
    if (section == "[let]")
      for (const auto& n : outputs) kept = kept && !std::regex_search(line, std::regex("=.*\\b" + n + "\\b"));
    if (kept) text += line + '\n';
  }
  return text;
}

inline pde::Problem problem_in_fields(const ReferenceCase& c) {
  const auto file = pde::find_problem(c.problem);
  pde::Problem problem = pde::read_problem_file(file, c.overrides);
  const bool plain = std::all_of(problem.fields.begin(), problem.fields.end(), [&](const pde::Field& f) {
    return problem.symbols->find(f.value).has_value();
  });
  if (plain) return problem;
  return pde::read_problem_text(without_ansatz(file, problem.symbols->output_names()), file.string(),
                                c.overrides);
}

// The size of the largest summand of a residual, given the values of all its nodes.
inline double largest_part(symbolic::Expr residual, const symbolic::ExprMap<double>& symbols) {
  using symbolic::Kind;
  const auto nodes = symbolic::topological_order(std::span(&residual, 1));
  const auto values = symbolic::evaluate<double>(nodes, symbols);
  symbolic::ExprMap<double> size, value;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& n = nodes[i].node();
    double s = std::abs(values[i]);
    if (n.kind == Kind::sum) {
      s = std::abs(n.constant);
      for (std::size_t k = 0; k < n.arguments.size(); ++k)
        s = std::max(s, std::abs(n.coefficients[k]) * size.at(n.arguments[k]));
    } else if (n.kind == Kind::product) {
      s = 1;
      for (std::size_t k = 0; k < n.arguments.size(); ++k) {
        const double e = n.coefficients[k];
        s *= std::pow(e > 0 ? size.at(n.arguments[k]) : std::abs(value.at(n.arguments[k])), e);
      }
    }
    size.emplace(nodes[i], s);
    value.emplace(nodes[i], values[i]);
  }
  return size.at(residual);
}

// A condition that settles what the reference leaves open.
inline bool fixes_a_constant(const pde::Problem& problem, const pde::Term& term) {
  const auto& constants = problem.reference.up_to_constant;
  const auto d = problem.symbols->find(term.residual);
  return d && d->orders.total() == 0 &&
         std::count(constants.begin(), constants.end(), problem.fields[d->output].name);
}

// Random points of a set, within the box along free coordinates.
inline pde::Points random_points(const pde::Problem& problem, const pde::PointSet& set,
                                 const ReferenceCase& c, std::size_t count) {
  std::mt19937_64 generator(7);
  pde::Points points;
  points.coordinates.resize(problem.domain.size());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < problem.domain.size(); ++k) {
      const auto at = c.box.find(problem.symbols->coordinate_names()[k]);
      const auto [low, high] = at == c.box.end() ? problem.domain[k] : at->second;
      double x = std::uniform_real_distribution<double>(low, high)(generator);
      if (set.kind == pde::PointSet::Kind::boundary)
        if (const double fixed = set.pieces[i % set.pieces.size()][k]; !std::isnan(fixed)) x = fixed;
      points.coordinates[k].push_back(x);
    }
  return points;
}

inline void expect_reference_solves(const ReferenceCase& c, std::size_t count = 200) {
  const pde::Problem problem = problem_in_fields(c);
  std::shared_ptr<const reference::ReferenceSolution> solved;
  if (problem.exact.empty()) {
    solved = reference::make_reference(problem.reference.solver, problem.reference.options,
                                       default_cache_folder());
  }
  const auto truth = solved ? from_reference(problem, solved) : closed_form(problem);
  ASSERT_EQ(truth->fields().size(), problem.fields.size()) << "the reference does not know all fields";
  symbolic::ExprMap<double> unknowns;
  for (const auto& u : problem.unknowns) {
    const auto found = solved ? solved->unknowns() : std::map<std::string, double>{};
    unknowns[problem.graph->symbol(u.name)] =
        found.contains(u.name) ? found.at(u.name) : u.known_value.value();
  }
  for (const auto& term : problem.terms) {
    const auto& set = problem.point_sets[term.point_set];
    if (set.kind == pde::PointSet::Kind::data) continue;  // noisy
    if (fixes_a_constant(problem, term)) continue;
    const bool condition = set.kind == pde::PointSet::Kind::boundary;
    const pde::Points points = random_points(problem, set, c, count);
    std::vector<std::pair<symbolic::Expr, std::vector<double>>> jets;
    for (const auto s : symbolic::symbols_of(std::span(&term.residual, 1)))
      if (const auto d = problem.symbols->find(s)) {
        const std::vector<int> orders(d->orders.order.begin(),
                                      d->orders.order.begin() + problem.dimensions());
        jets.emplace_back(s, truth->evaluate(d->output, orders, points));
      }
    const auto& root = term.residual.node();
    const std::size_t summands = root.kind == symbolic::Kind::sum ? root.arguments.size() : 0;
    std::vector<double> residuals, parts;
    std::vector<std::vector<double>> summand(summands);
    for (std::size_t i = 0; i < count; ++i) {
      symbolic::ExprMap<double> at = unknowns;
      for (int k = 0; k < problem.dimensions(); ++k)
        at[problem.symbols->coordinate(k)] = points.coordinates[k][i];
      for (const auto& [symbol, values] : jets) at[symbol] = values[i];
      residuals.push_back(std::abs(symbolic::evaluate(term.residual, at)));
      parts.push_back(largest_part(term.residual, at));
      for (std::size_t k = 0; k < summands; ++k)
        summand[k].push_back(std::abs(root.coefficients[k] * symbolic::evaluate(root.arguments[k], at)));
    }
    const double largest = std::max(condition ? 1.0 : 0.0, *std::max_element(parts.begin(), parts.end()));
    const auto relative = [&](const std::vector<double>& values) {
      double worst = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double ratio = values[i] / (c.pointwise && !condition ? parts[i] : largest);
        worst = std::isnan(ratio) ? ratio : std::max(worst, ratio);
      }
      return worst;
    };
    const auto own = c.terms.find(term.name);
    const double tolerance = own != c.terms.end() ? own->second : condition ? c.conditions : c.equations;
    EXPECT_LE(relative(residuals), tolerance) << c.problem << ": " << term.name << " (" << c.why << ")";
    if (std::getenv("LATHER_SHOW")) {
      const auto at = std::max_element(residuals.begin(), residuals.end()) - residuals.begin();
      std::printf("    %-24s %.1e", term.name.c_str(), relative(residuals));
      for (const auto& x : points.coordinates) std::printf(" %g", x[at]);
      for (const auto& s : summand) std::printf(" [%.1e]", relative(s));
      std::printf("\n");
    }
    for (std::size_t k = 0; k < summands; ++k)
      EXPECT_GT(relative(summand[k]), 5 * tolerance)
          << c.problem << ": " << term.name << ": the other sign of summand " << k << " would go unnoticed";
  }
}

inline std::string test_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace lather::train::test
