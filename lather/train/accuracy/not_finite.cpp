#include "lather/train/accuracy/not_finite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace lather::train {

namespace {

bool is_finite(double v) { return std::isfinite(v); }
std::string name_of_value(double v) { return std::isnan(v) ? "nan" : fmt::format("{}", v); }

std::string point_text(const pde::PinnObjective& objective, int set, std::size_t i) {
  const auto& names = objective.problem().symbols->coordinate_names();
  const pde::Points& points = objective.points(set);
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k)
    text += fmt::format("{}{} = {:g}", k ? ", " : "", names[k], points.coordinates[k][i]);
  return text;
}

std::string residual_not_finite(pde::PinnObjective& objective, std::span<const double> x) {
  const auto& terms = objective.problem().terms;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    std::vector<double> r(objective.residuals_of(terms[k].point_set));
    objective.term_residuals(x, static_cast<int>(k), r);
    const auto bad = std::ranges::find_if_not(r, is_finite);
    if (bad == r.end()) continue;
    const auto first =
        static_cast<std::size_t>(bad - r.begin()) * objective.problem().point_sets[terms[k].point_set].group;
    return fmt::format("the residual of '{}' is {} at {} ({} of {} points)", terms[k].name,
                       name_of_value(*bad), point_text(objective, terms[k].point_set, first),
                       r.size() - static_cast<std::size_t>(std::ranges::count_if(r, is_finite)), r.size());
  }
  return "";
}

std::string gradient_not_finite(pde::PinnObjective& objective, std::span<const double> x) {
  const auto& terms = objective.problem().terms;
  std::vector<double> losses(terms.size());
  std::vector<std::vector<double>> gradients;
  objective.term_gradients(x, losses, gradients);
  std::vector<std::string> names;  // if terms share their points, one spoils the gradients of all
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (!is_finite(losses[k]))
      return fmt::format("the loss of '{}' is {}", terms[k].name, name_of_value(losses[k]));
    if (!std::ranges::all_of(gradients[k], is_finite)) names.push_back(fmt::format("'{}'", terms[k].name));
  }
  if (names.empty()) return "";
  return fmt::format("the gradient of {} is not finite, though the residuals are", fmt::join(names, " or "));
}

}  // namespace

std::string describe_not_finite(pde::PinnObjective& objective, std::span<const double> x) {
  const std::string text = residual_not_finite(objective, x);
  return text.empty() ? gradient_not_finite(objective, x) : text;
}

}  // namespace lather::train
