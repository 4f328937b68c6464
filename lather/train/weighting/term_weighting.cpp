#include "lather/train/weighting/term_weighting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lather/train/weighting/ntk.hpp"

namespace lather::train {

TermWeighting::TermWeighting(std::int64_t every, const pde::Problem& problem) : every_(every) {
  for (const auto& term : problem.terms) {
    terms_.push_back(term.name);
    lambda_.push_back(term.weight);
  }
}

bool TermWeighting::update(std::int64_t step, pde::PinnObjective& objective, std::span<const double> x) {
  const auto install = [&] {
    for (std::size_t k = 0; k < lambda_.size(); ++k)
      objective.set_term_weight(static_cast<int>(k), lambda_[k]);
    installed_ = true;
  };
  if (!installed_) install();
  if (step % every_ != 0 || updated_ == step) return false;
  updated_ = step;
  if (!renew(objective, x, lambda_)) return false;
  install();
  return true;
}

void TermWeighting::state(StateVisitor& visitor) {
  visitor.array("lambda", std::span(lambda_));
  visitor.integer("updated", updated_);
  if (visitor.reading()) installed_ = false;
}

std::string TermWeighting::describe() const {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < terms_.size(); ++k)
    parts.push_back(fmt::format("{} {:.3g}", terms_[k], lambda_[k]));
  return fmt::format("{}: {}", name(), fmt::join(parts, ", "));
}

bool ScaleWeighting::renew(pde::PinnObjective& objective, std::span<const double> x,
                           std::span<double> lambda) {
  const auto s = scales(objective, x, lambda);
  double sum = 0, count = 0;
  for (std::size_t k = 0; k < s.size(); ++k) {
    if (lambda[k] == 0) continue;
    sum += s[k];
    count += 1;
  }
  if (!(sum > 0) || !std::isfinite(sum)) return false;
  constexpr double kGuard = 1e-5;
  for (std::size_t k = 0; k < s.size(); ++k)
    if (lambda[k] != 0)
      lambda[k] = average_ * lambda[k] + (1 - average_) * sum / (s[k] + kGuard * sum / count);
  return true;
}

std::vector<double> GradientNormWeighting::scales(pde::PinnObjective& objective, std::span<const double> x,
                                                  std::span<const double> lambda) {
  std::vector<double> losses(lambda.size()), s(lambda.size());
  std::vector<std::vector<double>> gradients;
  objective.term_gradients(x, losses, gradients);
  for (std::size_t k = 0; k < s.size(); ++k)
    if (lambda[k] != 0)
      s[k] =
          std::sqrt(std::inner_product(gradients[k].begin(), gradients[k].end(), gradients[k].begin(), 0.0)) /
          lambda[k];
  return s;
}

std::vector<double> NtkWeighting::scales(pde::PinnObjective& objective, std::span<const double> x,
                                         std::span<const double> lambda) {
  std::vector<double> s(lambda.size());
  for (std::size_t k = 0; k < s.size(); ++k) {
    if (lambda[k] == 0) continue;
    const auto count = objective.residuals_of(objective.problem().terms[k].point_set);
    s[k] = ntk_trace(objective, x, static_cast<int>(k)) / static_cast<double>(count);
  }
  return s;
}

void balance(std::span<double> lambda, std::span<const double> weighted, double exponent) {
  const double count = static_cast<double>(lambda.size() - std::count(lambda.begin(), lambda.end(), 0.0));
  const double mean = std::accumulate(weighted.begin(), weighted.end(), 0.0) / count;
  constexpr double kGuard = 1e-12;
  for (std::size_t k = 0; k < lambda.size(); ++k)
    lambda[k] *= std::pow(mean / (weighted[k] + kGuard * mean), exponent);
  const double mean_weight = std::accumulate(lambda.begin(), lambda.end(), 0.0) / count;
  for (double& l : lambda) l /= mean_weight;
}

bool BalanceWeighting::renew(pde::PinnObjective& objective, std::span<const double> x,
                             std::span<double> lambda) {
  const double loss = objective.value(x);
  if (!(loss > 0) || !std::isfinite(loss)) return false;
  balance(lambda, objective.term_losses(), exponent_);
  return true;
}

}  // namespace lather::train
