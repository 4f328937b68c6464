#include "optim/replay/quasi_newton.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/optim/quasi_newton/bfgs.hpp"
#include "lather/optim/quasi_newton/lbfgs.hpp"
#include "lather/optim/quasi_newton/ss_bfgs.hpp"
#include "lather/optim/quasi_newton/ss_broyden.hpp"
#include "optim/test_functions.hpp"

namespace lather::optim {
namespace {

using Json = nlohmann::json;

const Json& field(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name))
    throw Error(fmt::format("the record has no field '{}'", name));
  return object.at(name);
}

double number(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (!value.is_number())
    throw Error(fmt::format("field '{}': expected a number, got {}", name, value.type_name()));
  return value.get<double>();
}

std::int64_t whole_number(const Json& object, const char* name) {
  const double value = number(object, name);
  if (!(value >= 1 && value <= 1e9) || value != std::floor(value))
    throw Error(fmt::format("field '{}': expected a whole number from 1 on, got {}", name, value));
  return static_cast<std::int64_t>(value);
}

std::string text(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (!value.is_string())
    throw Error(fmt::format("field '{}': expected a text, got {}", name, value.type_name()));
  return value.get<std::string>();
}

const Json& list(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (!value.is_array())
    throw Error(fmt::format("field '{}': expected a list, got {}", name, value.type_name()));
  return value;
}

// `size` 0: any length.
std::vector<double> numbers(const Json& value, const char* name, std::size_t size = 0) {
  if (!value.is_array())
    throw Error(fmt::format("'{}': expected a list of numbers, got {}", name, value.type_name()));
  if (size > 0 && value.size() != size)
    throw Error(fmt::format("'{}': expected {} numbers, got {}", name, size, value.size()));
  std::vector<double> result;
  for (const auto& item : value) {
    if (!item.is_number())
      throw Error(fmt::format("'{}': expected numbers, got {}", name, item.dump().substr(0, 40)));
    result.push_back(item.get<double>());
  }
  return result;
}

std::vector<double> square_matrix(const Json& value, const char* name, std::size_t n) {
  if (!value.is_array() || value.size() != n)
    throw Error(fmt::format("'{}': expected {} rows of {} numbers", name, n, n));
  std::vector<double> result;
  for (const auto& row : value) {
    const auto entries = numbers(row, name, n);
    result.insert(result.end(), entries.begin(), entries.end());
  }
  return result;
}

void compare(double ours, double recorded, QuasiNewtonReplay& replay) {
  const double deviation = std::abs(ours - recorded) / std::max(1.0, std::abs(recorded));
  // A NaN must not hide behind a comparison.
  replay.deviation =
      std::isnan(deviation) ? std::numeric_limits<double>::infinity() : std::max(replay.deviation, deviation);
  ++replay.compared;
}

void compare(std::span<const double> ours, std::span<const double> recorded, QuasiNewtonReplay& replay) {
  for (std::size_t i = 0; i < ours.size(); ++i) compare(ours[i], recorded[i], replay);
}

QuasiNewtonReplay header(const Json& record, const char* kind) {
  if (text(record, "kind") != kind)
    throw Error(fmt::format("field 'kind': expected '{}', got '{}'", kind, text(record, "kind")));
  return {.name = text(record, "case"), .tolerance = number(record, "tolerance")};
}

}  // namespace

std::string lower_case(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

std::unique_ptr<Objective> objective_from_text(const std::string& description, std::size_t n) {
  const std::string words = lower_case(description);
  std::smatch match;
  static const std::regex rosenbrock(R"(([0-9.]+(?:e[+-]?[0-9]+)?)\s*\*?\s*\(\s*x_?\[?\{?i\s*\+\s*1)");
  if (std::regex_search(words, match, rosenbrock))
    return std::make_unique<Rosenbrock>(n, std::stod(match[1]));
  if (words.find("rosenbrock") != std::string::npos) return std::make_unique<Rosenbrock>(n);
  static const std::regex quadratic(R"(10\s*(?:\^|\*\*)\s*\(\s*([0-9.]*)\s*\*?\s*i\s*/\s*\(?\s*([0-9.]+))");
  if (std::regex_search(words, match, quadratic)) {
    const double decades = match[1].length() > 0 ? std::stod(match[1]) : 1.0, last = std::stod(match[2]);
    std::vector<double> d(n);
    for (std::size_t i = 0; i < n; ++i) d[i] = std::pow(10.0, decades * static_cast<double>(i) / last);
    return std::make_unique<DiagonalQuadratic>(std::move(d));
  }
  if (words.find("styblinski") != std::string::npos) return std::make_unique<StyblinskiTang>(n);
  throw Error(fmt::format(
      "unknown objective '{}'; known: Rosenbrock ('100 (x[i+1]-x[i]^2)^2 + …'), a diagonal quadratic "
      "('1/2 sum_i d_i x_i^2, d = 10^(P i/Q)'), Styblinski-Tang",
      description));
}

ScalingRule scaling_rule_from_text(const std::string& description) {
  const std::string words = lower_case(description);
  std::smatch match;
  static const std::regex broyden(R"(ss[-_ ]?broyden[-_ ]?([123])?)");
  if (std::regex_search(words, match, broyden)) {
    const std::int64_t variant = match[1].matched ? std::stoi(match[1]) : 2;
    return [variant](const Curvature& c) { return ss_broyden_scaling(variant, c); };
  }
  static const std::regex ss_bfgs(R"(ss[-_ ]?bfgs([-_ ](ol|oren))?)");
  if (std::regex_search(words, match, ss_bfgs)) {
    const auto scaling = match[1].matched ? SelfScaling::oren_luenberger : SelfScaling::al_baali;
    return [scaling](const Curvature& c) { return ss_bfgs_scaling(scaling, c); };
  }
  if (words.find("bfgs") != std::string::npos) return bfgs_scaling;
  throw Error(fmt::format(
      "no known method in '{}'; known: BFGS, SSBFGS_AB, SSBFGS_OL, SSBroyden1, SSBroyden2, SSBroyden3",
      description));
}

QuasiNewtonReplay replay_objective(const Json& record) {
  auto replay = header(record, "objective");
  if (lower_case(text(record, "reference")).find("lbfgs") == std::string::npos)
    throw Error(fmt::format("no known method in '{}'; known: torch.optim.LBFGS", text(record, "reference")));
  const Json& hyper = field(record, "hyper");
  auto x = numbers(field(record, "x0"), "x0");
  if (x.empty()) throw Error("'x0' is empty");
  const auto objective = objective_from_text(text(hyper, "objective"), x.size());

  auto options = torch_lbfgs_options();
  options.history = whole_number(hyper, "history_size");
  if (hyper.contains("lr")) options.first_step = number(hyper, "lr");
  if (hyper.contains("tolerance_grad")) options.tolerance_gradient = number(hyper, "tolerance_grad");
  if (hyper.contains("tolerance_change")) options.tolerance_change = number(hyper, "tolerance_change");
  Lbfgs lbfgs(objective->layout(), options);

  const Json& iterates = list(record, "iterates");
  if (iterates.empty()) throw Error("'iterates' is empty");
  const auto losses = numbers(list(record, "loss_before_step"), "loss_before_step", iterates.size());
  for (std::size_t k = 0; k < iterates.size(); ++k) {
    const auto recorded = numbers(iterates[k], "iterates", x.size());
    const auto report = lbfgs.step(*objective, x);
    compare(report.loss, losses[k], replay);
    compare(x, recorded, replay);
  }
  return replay;
}

QuasiNewtonReplay replay_inverse_hessian_updates(const Json& record) {
  auto replay = header(record, "inverse-hessian-update");
  // "…code of Urban et al. (modified SciPy 1.x), SSBFGS_AB": the method is the last word.
  const std::string reference = text(record, "reference");
  const auto rule = scaling_rule_from_text(reference.substr(reference.find_last_of(", ") + 1));
  const Json& updates = list(record, "updates");
  if (updates.empty()) throw Error("'updates' is empty");
  for (const auto& update : updates) {
    const auto s = numbers(field(update, "s"), "s");
    const auto y = numbers(field(update, "y"), "y", s.size());
    const auto g = numbers(field(update, "gradient_before"), "gradient_before", s.size());
    auto H = square_matrix(field(update, "H"), "H", s.size());
    const auto expected = square_matrix(field(update, "H_next"), "H_next", s.size());
    update_inverse_hessian(H, {s, y, number(update, "alpha"), g}, rule);
    compare(H, expected, replay);
  }
  return replay;
}

}  // namespace lather::optim
