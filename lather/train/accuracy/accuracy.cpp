#include "lather/train/accuracy/accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/pde/geometry.hpp"
#include "lather/pde/sampling/sobol.hpp"

namespace lather::train {

namespace {

std::vector<int> unit(std::size_t dimensions, std::size_t k) {
  std::vector<int> orders(dimensions);
  if (k > 0) orders[k - 1] = 1;
  return orders;
}

pde::Points points_for(const pde::Problem& problem, std::int64_t grid) {
  if (grid < 2) grid = default_grid(problem.dimensions());
  return grid == 0 ? spread_points(problem.domain, kSpreadPoints)
                   : uniform_grid(problem.domain, static_cast<std::size_t>(grid));
}

double mean(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

}  // namespace

std::int64_t default_grid(int dimensions) {
  constexpr std::array<std::int64_t, symbolic::kMaxDimensions> kPerCoordinate{10001, 401, 65, 17, 9, 7};
  return kPerCoordinate.at(dimensions - 1);
}

std::string where_errors_are_taken(std::int64_t grid) {
  return grid > 0 ? fmt::format("on a grid of {} points along each coordinate", grid)
                  : fmt::format("at {} points spread over the domain", kSpreadPoints);
}

pde::Points spread_points(std::span<const pde::Interval> domain, std::size_t count) {
  pde::Points points;
  for (std::size_t k = 0; k < domain.size(); ++k) {
    auto& c = points.coordinates.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i)
      c[i] = domain[k].low +
             (domain[k].high - domain[k].low) *
                 std::ldexp(pde::sobol_bits(static_cast<std::uint32_t>(i + 1), static_cast<int>(k)), -32);
  }
  return points;
}

pde::Points uniform_grid(std::span<const pde::Interval> domain, std::size_t per_coordinate) {
  std::size_t total = 1;
  for (std::size_t k = 0; k < domain.size(); ++k) total *= per_coordinate;
  pde::Points points;
  for (std::size_t k = 0, stride = total; k < domain.size(); ++k) {
    stride /= per_coordinate;
    auto& c = points.coordinates.emplace_back(total);
    for (std::size_t i = 0; i < total; ++i) {
      const std::size_t j = i / stride % per_coordinate;
      const double s = static_cast<double>(j) / static_cast<double>(per_coordinate - 1);
      c[i] = j + 1 == per_coordinate ? domain[k].high : domain[k].low + (domain[k].high - domain[k].low) * s;
    }
  }
  return points;
}

FieldValues predict(pde::PinnObjective& objective, std::span<const double> x, const pde::Points& points) {
  const auto& problem = objective.problem();
  const auto d = static_cast<std::size_t>(problem.dimensions());
  std::vector<symbolic::Expr> expressions;
  for (const auto& field : problem.fields) {
    expressions.push_back(field.value);
    for (std::size_t k = 0; k < d; ++k)
      expressions.push_back(problem.symbols->total_derivative(field.value, static_cast<int>(k)));
  }
  auto values = objective.evaluate(x, expressions, points);
  FieldValues result(problem.fields.size());
  for (std::size_t e = 0; e < values.size(); ++e) result[e / (d + 1)].push_back(std::move(values[e]));
  return result;
}

ErrorMeter::ErrorMeter(const pde::Problem& problem, const TrueSolution& truth, const ErrorOptions& options)
    : fields_(truth.fields()),
      grid_(pde::only_inside(problem.geometry.get(), points_for(problem, options.grid))) {
  if (grid_.count() == 0)
    throw Error(
        "no point of the grid for errors lies inside the domain: take a finer one (--set record.grid)");
  std::vector<std::string> all;
  for (const auto& field : problem.fields) all.push_back(field.name);
  for (const auto& name : options.up_to_constant)
    if (std::find(all.begin(), all.end(), name) == all.end())
      throw Error("up to a constant: " + unknown_name_message("field", name, all));
  for (const int f : fields_) {
    names_.push_back(all[f]);
    up_to_constant_.push_back(std::find(options.up_to_constant.begin(), options.up_to_constant.end(),
                                        all[f]) != options.up_to_constant.end());
    auto& values = truth_.emplace_back();
    for (std::size_t k = 0; k <= problem.domain.size(); ++k)
      values.push_back(truth.evaluate(f, unit(problem.domain.size(), k), grid_));
  }
}

std::vector<double> pointwise_error(const pde::Problem& problem, std::size_t field,
                                    std::span<const double> values, std::span<const double> truth) {
  std::vector<double> error(values.size());
  double sum = 0, numbers = 0;
  for (std::size_t i = 0; i < error.size(); ++i) {
    error[i] = values[i] - truth[i];
    if (std::isfinite(error[i])) sum += error[i], numbers += 1;
  }
  const auto& free = problem.reference.up_to_constant;
  if (numbers > 0 && std::find(free.begin(), free.end(), problem.fields[field].name) != free.end())
    for (double& e : error) e -= sum / numbers;
  return error;
}

std::vector<FieldError> ErrorMeter::measure(const Predict& predict) const {
  const FieldValues computed = predict(grid_);
  std::vector<FieldError> errors;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const auto& u = computed[fields_[f]];
    const auto& v = truth_[f];
    const double u_mean = up_to_constant_[f] ? mean(u[0]) : 0, v_mean = up_to_constant_[f] ? mean(v[0]) : 0;
    const double n = static_cast<double>(grid_.count());
    double difference = 0, norm = 0, largest = 0;
    for (std::size_t i = 0; i < v[0].size(); ++i) {
      const double truth = v[0][i] - v_mean, e = (u[0][i] - u_mean) - truth;
      difference += e * e;
      norm += truth * truth;
      largest = std::isnan(e) ? e : std::max(largest, std::abs(e));  // a NaN stays
    }
    double slope_difference = 0, slope_norm = 0;
    for (std::size_t k = 1; k < v.size(); ++k)
      for (std::size_t i = 0; i < v[k].size(); ++i) {
        const double e = u[k][i] - v[k][i];
        slope_difference += e * e;
        slope_norm += v[k][i] * v[k][i];
      }
    const auto relative = [&](double above, double below) {
      return std::sqrt(above / (below > 0 ? below : n));
    };
    errors.push_back({names_[f], relative(difference, norm),
                      relative(difference + slope_difference, norm + slope_norm), largest});
  }
  return errors;
}

std::vector<FieldError> ErrorMeter::measure(pde::PinnObjective& objective, std::span<const double> x) const {
  return measure([&](const pde::Points& points) { return predict(objective, x, points); });
}

std::vector<TermResidual> validation_residuals(pde::PinnObjective& objective, std::span<const double> x,
                                               const pde::PointSource& source) {
  const auto& problem = objective.problem();
  std::vector<TermResidual> residuals(problem.terms.size());
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s) {
    std::vector<std::size_t> terms;
    for (std::size_t k = 0; k < problem.terms.size(); ++k)
      if (problem.terms[k].point_set == static_cast<int>(s)) terms.push_back(k);
    if (terms.empty()) continue;
    std::vector<symbolic::Expr> expressions;
    for (const std::size_t k : terms) expressions.push_back(problem.terms[k].residual);
    const auto values = objective.evaluate(x, expressions, source.validation(static_cast<int>(s)),
                                           problem.point_sets[s].columns);
    const std::size_t group = problem.point_sets[s].group;
    for (std::size_t e = 0; e < terms.size(); ++e) {
      TermResidual& r = residuals[terms[e]];
      r.term = problem.terms[terms[e]].name;
      for (std::size_t i = 0; i < values[e].size(); i += group) {
        const auto first = values[e].begin() + static_cast<std::ptrdiff_t>(i);
        const double v = std::accumulate(first, first + static_cast<std::ptrdiff_t>(group), 0.0);
        r.mean_square += v * v / static_cast<double>(values[e].size() / group);
        r.maximum = std::isnan(v) ? v : std::max(r.maximum, std::abs(v));
      }
    }
  }
  return residuals;
}

}  // namespace lather::train
