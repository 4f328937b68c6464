#include "lather/local/domain.hpp"

#include <algorithm>
#include <cmath>

#include "lather/pde/geometry.hpp"
#include "lather/pde/sampling/sampling.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::local {

using symbolic::Expr;

Box Domain::bounds() const {
  Box box;
  for (int k = 0; k < dimensions(); ++k) {
    box.low[k] = problem_->domain[k].low;
    box.high[k] = problem_->domain[k].high;
  }
  return box;
}

std::vector<char> Domain::contains(const pde::Points& points) const {
  return pde::in_closed_domain(problem_->geometry.get(), points);
}

// The signed distance at the middle is at most the distance of the boundary.
Domain::Part Domain::part_of(const Box& box) const {
  const pde::Geometry* geometry = problem_->geometry.get();
  if (!geometry) return Part::all;
  geometry::Point middle{};
  double squares = 0;
  for (std::size_t k = 0; k < geometry->coordinates.size(); ++k) {
    const int i = geometry->coordinates[k];
    middle[k] = 0.5 * (box.low[i] + box.high[i]);
    squares += box.width(i) * box.width(i);
  }
  const double reach = 0.5 * std::sqrt(squares), distance = geometry->domain->signed_distance(middle);
  if (distance >= reach) return Part::all;
  if (distance <= -reach) return Part::none;
  constexpr std::size_t kProbe = 1 << 12;
  const auto points = spread(box, dimensions(), kProbe);
  const auto inside = contains(points);
  const auto found = static_cast<std::size_t>(std::count(inside.begin(), inside.end(), 1));
  return found == kProbe ? Part::all : found == 0 ? Part::none : Part::some;
}

pde::Points spread(const Box& box, int dimensions, std::size_t count) {
  pde::Points points{pde::unit_points(pde::SamplingMethod::sobol_plain, count, dimensions, 0, 0, 1), {}};
  for (int k = 0; k < dimensions; ++k)
    for (double& x : points.coordinates[k]) x = box.low[k] + box.width(k) * x;
  return points;
}

namespace {

// Zeros of an expression in one coordinate, where it changes its sign, or where it touches zero.
void add_zeros(Expr e, Expr coordinate, const pde::Interval& range, std::vector<double>& zeros) {
  constexpr int kScan = 4000;
  const auto value = [&](double x) {
    return symbolic::evaluate<double>(e, symbolic::ExprMap<double>{{coordinate, x}});
  };
  const auto at = [&](int i) { return range.low + (range.high - range.low) * (i + 0.37) / kScan; };
  double before = value(at(0));
  for (int i = 1; i < kScan; ++i) {
    const double here = value(at(i));
    if (std::isfinite(before) && std::isfinite(here) && (before < 0) != (here < 0)) {
      double a = at(i - 1), b = at(i);
      for (int k = 0; k < 200 && 0.5 * (a + b) > a && 0.5 * (a + b) < b; ++k) {
        const double middle = 0.5 * (a + b);
        ((value(middle) < 0) == (before < 0) ? a : b) = middle;
      }
      // The end that is the shorter number is the one that was written.
      zeros.push_back(std::abs(value(a)) <= std::abs(value(b)) ? a : b);
    }
    before = here;
  }
}

// The parts of an argument at whose zeros a function breaks.
std::vector<Expr> breaking_parts(Expr function) {
  using symbolic::Kind;
  const auto arguments = function.arguments();
  std::vector<Expr> parts;
  switch (function.kind()) {
    case Kind::abs:
    case Kind::sign:
    case Kind::step: parts.push_back(arguments[0]); break;
    case Kind::min:
    case Kind::max: parts.push_back(arguments[0] - arguments[1]); break;
    default: return {};
  }
  std::vector<Expr> factors;
  for (Expr part : parts) {
    if (part.kind() == Kind::sum && part.arguments().size() == 1 && part.node().constant == 0)
      part = part.arguments()[0];  // a multiple
    if (part.kind() == Kind::product)
      factors.insert(factors.end(), part.arguments().begin(), part.arguments().end());
    else
      factors.push_back(part);
  }
  return factors;
}

}  // namespace

std::vector<std::vector<double>> breaks_of(const pde::Problem& problem) {
  std::vector<Expr> residuals;
  for (const auto& term : problem.terms) residuals.push_back(term.residual);
  std::vector<std::vector<double>> breaks(problem.domain.size());
  for (Expr node : symbolic::topological_order(residuals))
    for (Expr part : breaking_parts(node)) {
      const auto symbols = symbolic::symbols_of(std::span(&part, 1));
      for (int k = 0; k < problem.dimensions(); ++k)
        if (symbols.size() == 1 && symbols[0] == problem.symbols->coordinate(k))
          add_zeros(part, symbols[0], problem.domain[k], breaks[k]);
    }
  for (std::size_t k = 0; k < breaks.size(); ++k) {
    auto& list = breaks[k];
    const auto [low, high] = problem.domain[k];
    const double near = 1e-10 * (high - low);
    std::sort(list.begin(), list.end());
    std::vector<double> apart;
    for (const double x : list)
      if (x > low + near && x < high - near && (apart.empty() || x > apart.back() + near)) apart.push_back(x);
    list = apart;
  }
  return breaks;
}

}  // namespace lather::local
