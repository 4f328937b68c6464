#include "lather/local/equations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lather/core/error.hpp"
#include "lather/pde/sampling/region.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::local {

using symbolic::Expr;

void require_representable(const pde::Problem& problem) {
  const auto refuse = [](const std::string& what) {
    throw Error("the local solver " + what + "; choose an optimizer for networks instead");
  };
  if (problem.dimensions() > kMostCoordinates)
    refuse(fmt::format("solves problems of up to {} coordinates, and this one has {}", kMostCoordinates,
                       problem.dimensions()));
  if (!problem.unknowns.empty())
    refuse(fmt::format("finds no unknown numbers such as '{}' yet", problem.unknowns[0].name));
  for (const auto& set : problem.point_sets)
    if (set.group > 1)
      refuse(fmt::format("does not know integrals and linked places such as '{}' yet", set.name));
}

Equations::Equations(const pde::Problem& problem) : domain_(problem) {
  require_representable(problem);
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s) {
    const auto& set = problem.point_sets[s];
    std::vector<Expr> residuals;
    std::vector<double> weights;
    for (const auto& term : problem.terms)
      if (term.point_set == static_cast<int>(s)) {
        residuals.push_back(term.residual);
        weights.push_back(set.kind == pde::PointSet::Kind::data ? std::sqrt(term.weight) : 1);
      }
    if (residuals.empty()) continue;
    groups_.push_back({&set, Linearization(problem, residuals, set.columns), std::move(weights)});
    linear_ = linear_ && groups_.back().terms.linear();
  }
  for (int k = 0; k < dimensions(); ++k)
    continuous_.emplace_back(problem, continuous_expressions(k), std::vector<std::string>{});
}

std::vector<Expr> Equations::continuous_expressions(int k) {
  auto& symbols = *problem().symbols;
  std::vector<int> orders(static_cast<std::size_t>(outputs()));  // of the equations along k
  for (const auto& group : groups_)
    if (group.is_interior())
      for (const auto& factor : group.terms.factors()) {
        int& order = orders[static_cast<std::size_t>(factor.jet.output)];
        order = std::max<int>(order, factor.jet.orders.order[k]);
      }
  std::vector<Expr> fluxes;
  std::set<std::pair<int, int>> replaced;  // output, order along k
  for (const auto& [flux, coordinate] : symbols.fluxes()) {
    if (coordinate != k) continue;
    std::vector<std::pair<int, int>> found;
    int highest = 0;
    for (Expr s : symbolic::symbols_of(std::span(&flux, 1)))
      if (const auto d = symbols.find(s)) {
        found.emplace_back(d->output, d->orders.order[k]);
        highest = std::max<int>(highest, d->orders.order[k]);
      }
    if (highest == 0) continue;
    fluxes.push_back(flux);
    for (const auto& [output, order] : found)
      if (order == highest) replaced.emplace(output, order);
  }
  if (fluxes.size() != replaced.size())
    throw Error(fmt::format(
        "the local solver cannot tell what is continuous where coefficients jump along '{}': {} fluxes with "
        "jumps contain {} highest derivatives; write every equation with such a coefficient as D(flux, {})",
        symbols.coordinate_names()[static_cast<std::size_t>(k)], fluxes.size(), replaced.size(),
        symbols.coordinate_names()[static_cast<std::size_t>(k)]));
  has_fluxes_.push_back(!fluxes.empty());
  std::vector<Expr> list;
  for (int f = 0; f < outputs(); ++f)
    for (int order = 0; order < orders[static_cast<std::size_t>(f)]; ++order) {
      if (replaced.contains({f, order})) continue;
      MultiIndex derivative;
      derivative.order[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(order);
      list.push_back(symbols.output(f, derivative));
    }
  list.insert(list.end(), fluxes.begin(), fluxes.end());
  return list;
}

int Equations::lowest_order(int k) const {
  int lowest = 0;
  for (const auto& group : groups_)
    for (std::size_t r = 0; group.is_interior() && r < group.terms.residuals(); ++r) {
      int order = 0;
      for (const auto& factor : group.terms.factors())
        if (factor.residual == static_cast<int>(r)) order = std::max<int>(order, factor.jet.orders.order[k]);
      if (order > 0 && (lowest == 0 || order < lowest)) lowest = order;
    }
  return lowest;
}

// The first derivative along k beside the second one. That which comes from inside D(c*u_x, x), the slope of
// c, moves nothing.
double Equations::convection() const {
  if (!linear_) return 1;
  constexpr std::size_t kProbe = 500;
  auto points = spread(domain_.bounds(), dimensions(), kProbe);
  points = only(points, domain_.contains(points));
  double ratio = 1;
  for (const auto& group : groups_) {
    if (!group.is_interior() || !group.points->columns.empty()) continue;
    const auto& factors = group.terms.factors();
    for (const auto& second : factors)
      for (int k = 0; k < dimensions(); ++k) {
        MultiIndex once, twice;
        once.order[static_cast<std::size_t>(k)] = 1;
        twice.order[static_cast<std::size_t>(k)] = 2;
        if (second.jet.orders != twice || group.terms.highest_order(second.residual) != 2) continue;
        const auto first = std::find_if(factors.begin(), factors.end(), [&](const auto& f) {
          return f.residual == second.residual && f.jet == Jet{second.jet.output, once};
        });
        if (first == factors.end()) continue;
        const Expr moving = first->expression - problem().symbols->total_derivative(second.expression, k);
        const Linearization both(problem(), {moving, second.expression}, {});
        const auto values = both.residuals_at(points, {});
        double by_first = 0, by_second = 0;
        for (std::size_t i = 0; i < points.count(); ++i) {
          by_first += std::abs(values[0][i]);
          by_second += std::abs(values[1][i]);
        }
        const double length = domain_.bounds().width(k) / 4;
        if (by_second > 0) ratio = std::max(ratio, by_first * length / by_second);
      }
  }
  return ratio;
}

}  // namespace lather::local
