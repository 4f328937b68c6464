// Letters: g_i, m_i, v_i gradient and moments of group i, w_i its weight, u = sum_i w_i (m_i / c1) /
// (sqrt(v_i / c2) + eps).

#include "lather/optim/first_order/multiadam.hpp"

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"

namespace lather::optim {

void require_whole_groups(const MultiAdamOptions& options) {
  for (const double group : options.groups)
    if (group < 0 || group != std::floor(group))
      throw Error("multiadam.groups: expected whole numbers from 0");
}

LossGroups loss_groups(const MultiAdamOptions& o, const std::vector<bool>& term_is_equation,
                       std::size_t before) {
  const std::size_t terms = term_is_equation.size();
  // The paper's two groups; if one of them is empty, there is only one.
  const bool equations =
      std::find(term_is_equation.begin(), term_is_equation.end(), true) != term_is_equation.end();
  if (!o.groups.empty() && o.groups.size() != terms)
    throw Error("multiadam.groups: expected " + std::to_string(terms) + " entries, one per loss term, got " +
                std::to_string(o.groups.size()));
  LossGroups groups;
  std::size_t count = 0;
  for (std::size_t k = 0; k < terms; ++k) {
    groups.of_term.push_back(o.groups.empty() ? equations && !term_is_equation[k]
                                              : static_cast<std::size_t>(o.groups[k]));
    count = std::max(count, groups.of_term[k] + 1);
  }
  if (!o.group_weights.empty() && o.group_weights.size() != count)
    throw Error("multiadam.group_weights: expected " + std::to_string(count) +
                " entries, one per group, got " + std::to_string(o.group_weights.size()));
  if (before > 0 && count != before)
    throw Error("multiadam: the number of loss groups changed during the run");
  groups.weights = o.group_weights;
  if (groups.weights.empty()) groups.weights.assign(count, 1 / static_cast<double>(count));
  return groups;
}

MultiAdam::MultiAdam(const ParameterLayout& layout, const MultiAdamOptions& options)
    : GradientMethod(layout), options_(options) {
  require_whole_groups(options);
}

double MultiAdam::evaluate(Objective& objective, std::span<const double> x) {
  const std::size_t terms = objective.term_names().size(), n = layout_.size();
  groups_ = loss_groups(options_, objective.term_is_equation(), t_ > 0 ? group_count_ : 0);
  const std::size_t groups = group_count_ = groups_.weights.size();
  m_.resize(groups * n);
  v_.resize(groups * n);

  losses_.resize(terms);
  objective.term_gradients(x, losses_, term_gradients_);
  gradients_.resize(groups);
  for (auto& g : gradients_) g.assign(n, 0.0);
  std::fill(gradient_.begin(), gradient_.end(), 0.0);
  double loss = 0;
  for (std::size_t k = 0; k < terms; ++k) {
    loss += losses_[k];
    auto& g = gradients_[groups_.of_term[k]];
    for (std::size_t i = 0; i < n; ++i) {
      g[i] += term_gradients_[k][i];
      gradient_[i] += term_gradients_[k][i];
    }
  }
  return loss;
}

void MultiAdam::update(std::span<const double> x) {
  const auto& o = options_;
  const std::size_t n = layout_.size();
  const auto rule = adam_rule(o.beta1, o.beta2, o.epsilon, t_);
  std::fill(change_.begin(), change_.end(), 0.0);
  const double rate = o.learning_rate * factor_;
  for (std::size_t group = 0; group < group_count_; ++group) {
    auto& g = gradients_[group];
    if (o.weight_decay > 0)
      for (std::size_t i = 0; i < n; ++i) g[i] += o.weight_decay * x[i];
    const auto m = std::span(m_).subspan(group * n, n), v = std::span(v_).subspan(group * n, n);
    adam_moments(rule, g, m, v);
    adam_direction(rule, m, v, g);
    for (std::size_t i = 0; i < n; ++i) change_[i] -= rate * groups_.weights[group] * g[i];
  }
}

std::size_t MultiAdam::memory_bytes() const {
  std::size_t bytes = GradientMethod::memory_bytes() + bytes_of(m_, v_);
  for (const auto* gradients : {&term_gradients_, &gradients_})
    for (const auto& gradient : *gradients) bytes += bytes_of(gradient);
  return bytes;
}

void MultiAdam::state(StateVisitor& visitor) {
  GradientMethod::state(visitor);
  auto groups = static_cast<std::int64_t>(group_count_);
  visitor.integer("groups", groups);
  group_count_ = static_cast<std::size_t>(groups);
  visitor.array("m", m_);
  visitor.array("v", v_);
}

}  // namespace lather::optim
