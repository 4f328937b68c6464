#include "lather/train/accuracy/solution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/pde/sampling/region.hpp"

namespace lather::train {

namespace {

// Splits "xxt" into coordinates; longer names win ("eta" before "e"). Returns whether all of it was read.
bool read_orders(std::string_view text, const std::vector<std::string>& coordinates,
                 symbolic::MultiIndex& orders) {
  if (text.empty()) return true;
  std::vector<int> fitting;
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    if (text.starts_with(coordinates[i])) fitting.push_back(static_cast<int>(i));
  std::sort(fitting.begin(), fitting.end(),
            [&](int a, int b) { return coordinates[a].size() > coordinates[b].size(); });
  for (const int i : fitting) {
    symbolic::MultiIndex next = orders.plus(i);
    if (read_orders(text.substr(coordinates[i].size()), coordinates, next)) {
      orders = next;
      return true;
    }
  }
  return false;
}

pde::Points subset(const pde::Points& points, std::span<const std::size_t> indices) {
  pde::Points part;
  for (const auto& coordinate : points.coordinates) {
    auto& values = part.coordinates.emplace_back();
    for (const std::size_t i : indices) values.push_back(coordinate[i]);
  }
  return part;
}

}  // namespace

symbolic::Expr expression_of(const pde::Problem& problem, const FieldDerivative& quantity) {
  symbolic::Expr e = problem.fields[quantity.field].value;
  for (int i = 0; i < problem.dimensions(); ++i)
    for (int k = 0; k < quantity.orders.order[i]; ++k) e = problem.symbols->total_derivative(e, i);
  return e;
}

FieldDerivative parse_derivative(const pde::Problem& problem, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& field : problem.fields) names.push_back(field.name);
  for (std::size_t f = 0; f < names.size(); ++f) {
    if (name == names[f]) return {name, static_cast<int>(f), {}};
    symbolic::MultiIndex orders;
    if (!name.starts_with(names[f] + "_")) continue;
    if (!read_orders(std::string_view(name).substr(names[f].size() + 1), problem.symbols->coordinate_names(),
                     orders))
      continue;
    if (orders.total() > symbolic::kMaxOrder)
      throw Error(fmt::format("'{}' has order {}; derivatives up to order {} are available", name,
                              orders.total(), symbolic::kMaxOrder));
    return {name, static_cast<int>(f), orders};
  }
  throw Error(unknown_name_message(
      "field or derivative (such as " + names[0] + "_" + problem.symbols->coordinate_names()[0] + ")", name,
      names));
}

std::vector<FieldDerivative> field_values(const pde::Problem& problem) {
  std::vector<FieldDerivative> list;
  for (std::size_t f = 0; f < problem.fields.size(); ++f)
    list.push_back({problem.fields[f].name, static_cast<int>(f), {}});
  return list;
}

std::vector<FieldDerivative> first_derivatives(const pde::Problem& problem) {
  std::vector<FieldDerivative> list;
  for (std::size_t f = 0; f < problem.fields.size(); ++f)
    for (int i = 0; i < problem.dimensions(); ++i)
      list.push_back({problem.fields[f].name + "_" + problem.symbols->coordinate_names()[i],
                      static_cast<int>(f), symbolic::MultiIndex{}.plus(i)});
  return list;
}

Solution::Solution(pde::Problem problem, std::vector<Piece> pieces, int window_coordinate)
    : problem_(std::move(problem)), pieces_(std::move(pieces)), window_coordinate_(window_coordinate) {}

std::vector<double> Solution::unknowns() const {
  const auto& x = pieces_.back().parameters;
  return {x.end() - static_cast<std::ptrdiff_t>(problem_.unknowns.size()), x.end()};
}

template <class Expressions>
std::vector<std::vector<double>> Solution::over_pieces(std::size_t count, const pde::Points& points,
                                                       Expressions&& expressions) const {
  std::vector<std::vector<std::size_t>> members(pieces_.size());
  for (std::size_t i = 0; i < points.count(); ++i) {
    std::size_t p = 0;
    while (window_coordinate_ >= 0 && p + 1 < pieces_.size() &&
           points.coordinates[window_coordinate_][i] > pieces_[p].end)
      ++p;
    members[p].push_back(i);
  }
  std::vector<std::vector<double>> values(count, std::vector<double>(points.count()));
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    if (members[p].empty()) continue;
    auto& objective = *pieces_[p].objective;
    const std::vector<symbolic::Expr> list = expressions(objective.problem());
    pde::Points chosen = subset(points, members[p]);
    const auto columns = pde::fill_columns(objective.problem(), list, chosen);
    const auto part = objective.evaluate(pieces_[p].parameters, list, chosen, columns);
    for (std::size_t q = 0; q < count; ++q)
      for (std::size_t k = 0; k < members[p].size(); ++k) values[q][members[p][k]] = part[q][k];
  }
  return values;
}

std::vector<std::vector<double>> Solution::evaluate(std::span<const FieldDerivative> quantities,
                                                    const pde::Points& points) const {
  return over_pieces(quantities.size(), points, [&](const pde::Problem& problem) {
    std::vector<symbolic::Expr> list;
    for (const auto& quantity : quantities) list.push_back(expression_of(problem, quantity));
    return list;
  });
}

std::vector<std::vector<std::vector<double>>> Fields::values_and_slopes(const pde::Points& points) const {
  const auto slopes = first_derivatives(problem());
  const auto d = static_cast<std::size_t>(problem().dimensions());
  std::vector<FieldDerivative> quantities;
  for (const auto& field : field_values(problem())) {
    quantities.push_back(field);
    for (std::size_t k = 0; k < d; ++k)
      quantities.push_back(slopes[static_cast<std::size_t>(field.field) * d + k]);
  }
  auto values = evaluate(quantities, points);
  std::vector<std::vector<std::vector<double>>> result(problem().fields.size());
  for (std::size_t q = 0; q < values.size(); ++q) result[q / (d + 1)].push_back(std::move(values[q]));
  return result;
}

std::vector<std::pair<std::string, std::vector<double>>> Solution::residuals(
    const pde::Points& points) const {
  const auto is_equation = [](const pde::Problem& problem, const pde::Term& term) {
    return problem.point_sets[term.point_set].kind == pde::PointSet::Kind::interior;
  };
  std::vector<std::pair<std::string, std::vector<double>>> named;
  for (const auto& term : problem_.terms)
    if (is_equation(problem_, term)) named.push_back({term.name, {}});
  auto values = over_pieces(named.size(), points, [&](const pde::Problem& problem) {
    std::vector<symbolic::Expr> list;
    for (const auto& term : problem.terms)
      if (is_equation(problem, term)) list.push_back(term.residual);
    return list;
  });
  for (std::size_t k = 0; k < named.size(); ++k) named[k].second = std::move(values[k]);
  // An equation has no residual where it does not apply.
  std::size_t next = 0;
  for (const auto& term : problem_.terms) {
    if (!is_equation(problem_, term)) continue;
    auto& residual = named[next++].second;
    if (const auto& pieces = problem_.point_sets[term.point_set].pieces;
        !pieces.empty() && pieces[0].region) {
      const auto covered = pieces[0].region->covers(points);
      for (std::size_t i = 0; i < residual.size(); ++i)
        if (!covered[i]) residual[i] = 0;
    }
  }
  return named;
}

std::size_t Grid::size() const {
  std::size_t count = 1;
  for (const auto& axis : axes) count *= axis.size();
  return count;
}

pde::Points Grid::points() const {
  pde::Points points;
  std::size_t inner = size();
  for (const auto& axis : axes) {
    inner /= axis.size();
    auto& values = points.coordinates.emplace_back(size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = axis[i / inner % axis.size()];
  }
  return points;
}

Grid grid_of(const pde::Problem& problem, std::span<const std::size_t> counts) {
  Grid grid;
  for (int k = 0; k < problem.dimensions(); ++k) {
    const auto [low, high] = problem.domain[k];
    const std::size_t n = counts[k];
    auto& axis = grid.axes.emplace_back();
    if (n == 1)
      axis.push_back(low + (high - low) / 2);
    else
      for (std::size_t i = 0; i < n; ++i)
        axis.push_back(i + 1 == n ? high
                                  : low + (high - low) * static_cast<double>(i) / static_cast<double>(n - 1));
  }
  return grid;
}

Grid picture_grid(const pde::Problem& problem) {
  std::vector<std::size_t> counts(problem.dimensions(), 1);
  const std::vector<std::size_t> fine = problem.dimensions() == 1   ? std::vector<std::size_t>{513}
                                        : problem.dimensions() == 2 ? std::vector<std::size_t>{129, 129}
                                                                    : std::vector<std::size_t>{65, 65, 5};
  std::copy(fine.begin(), fine.end(), counts.begin());
  return grid_of(problem, counts);
}

}  // namespace lather::train
