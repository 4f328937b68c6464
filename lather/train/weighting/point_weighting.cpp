#include "lather/train/weighting/point_weighting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/optim/formulas/adam.hpp"

namespace lather::train {

std::uint64_t fingerprint(const pde::Points& points) {
  // FNV-1a, eight bytes at a time
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const auto& c : points.coordinates)
    for (const double v : c) hash = (hash ^ std::bit_cast<std::uint64_t>(v)) * 0x100000001B3u;
  return hash;
}

std::vector<double> causal_weights(std::span<const double> chunk_losses, double eps) {
  std::vector<double> w;
  double sum = 0;
  for (const double loss : chunk_losses) {
    w.push_back(std::exp(-eps * sum));
    sum += loss;
  }
  return w;
}

CausalWeighting::CausalWeighting(const CausalOptions& options, const pde::Problem& problem)
    : options_(options),
      eps_(options.tolerances.empty() ? std::vector{options.tolerance} : options.tolerances) {
  const auto& names = problem.symbols->coordinate_names();
  const auto at = std::find(names.begin(), names.end(), options.coordinate);
  if (at == names.end())
    throw Error("causal: " + unknown_name_message("coordinate for the time", options.coordinate, names));
  time_ = static_cast<int>(at - names.begin());
  for (std::size_t i = 0; i < eps_.size(); ++i)
    if (!(eps_[i] >= 0) || (i > 0 && !(eps_[i] > eps_[i - 1])))
      throw Error("causal.tolerances: expected increasing, non-negative numbers");
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s) {
    if (problem.point_sets[s].kind != pde::PointSet::Kind::interior) continue;
    Set set{static_cast<int>(s), {}, {}};
    for (std::size_t k = 0; k < problem.terms.size(); ++k)
      if (problem.terms[k].point_set == set.point_set) set.terms.push_back(static_cast<int>(k));
    if (!set.terms.empty()) sets_.push_back(std::move(set));
  }
}

bool CausalWeighting::update(std::int64_t step, pde::PinnObjective& objective, std::span<const double> x) {
  bool changed = false;
  const bool due = step % options_.every == 0 && updated_ != step;
  if (due && updated_ >= 0 && smallest_ > options_.threshold &&
      stage_ + 1 < static_cast<std::int64_t>(eps_.size()))
    ++stage_;
  double smallest = 1;
  for (auto& set : sets_) {
    const bool missing = objective.point_weights(set.terms[0]).empty();
    bool stale = due;
    if (missing) {
      const auto now = static_cast<std::int64_t>(fingerprint(objective.points(set.point_set)));
      stale = stale || now != set.points_fingerprint;
      set.points_fingerprint = now;
    }
    if (stale) compute(set, objective, x);
    if (stale || missing)
      for (const int k : set.terms) objective.set_point_weights(k, set.weights);
    changed = changed || stale;
    smallest = std::min(smallest, *std::min_element(set.weights.begin(), set.weights.end()));
  }
  smallest_ = smallest;
  if (due) updated_ = step;
  return changed;
}

void CausalWeighting::compute(Set& set, pde::PinnObjective& objective, std::span<const double> x) {
  const auto& t = objective.points(set.point_set).coordinates[time_];
  const std::size_t n = t.size(), M = std::min<std::size_t>(static_cast<std::size_t>(options_.chunks), n);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return t[a] < t[b]; });
  const auto begin = [&](std::size_t chunk) { return n * chunk / M; };

  std::vector<double> w(M, 1.0), r(n), L(M);
  for (const int k : set.terms) {
    objective.term_residuals(x, k, r);
    for (std::size_t i = 0; i < M; ++i) {
      double sum = 0;
      for (std::size_t j = begin(i); j < begin(i + 1); ++j) sum += r[order[j]] * r[order[j]];
      L[i] = sum / static_cast<double>(begin(i + 1) - begin(i));
    }
    const auto of_term = causal_weights(L, tolerance());
    for (std::size_t i = 0; i < M; ++i) w[i] = std::min(w[i], of_term[i]);
  }
  set.weights.resize(n);
  for (std::size_t i = 0; i < M; ++i)
    for (std::size_t j = begin(i); j < begin(i + 1); ++j) set.weights[order[j]] = w[i];
}

void CausalWeighting::state(StateVisitor& visitor) {
  visitor.integer("stage", stage_);
  visitor.integer("updated", updated_);
  visitor.real("smallest", smallest_);
  for (auto& set : sets_) {
    visitor.array("weights", set.weights);
    visitor.integer("points", set.points_fingerprint);
  }
}

std::string CausalWeighting::describe() const {
  return fmt::format("causal: eps {:g}, {} chunks, smallest weight {:.3g}", tolerance(), options_.chunks,
                     smallest_);
}

SelfAdaptiveWeighting::SelfAdaptiveWeighting(const SelfAdaptiveOptions& options, const pde::Problem& problem)
    : options_(options) {
  for (const auto& term : problem.terms) terms_.push_back({term.point_set, {}, {}, {}});
}

void SelfAdaptiveWeighting::install(int k, pde::PinnObjective& objective) const {
  std::vector<double> weights(terms_[k].l);
  for (double& w : weights) w *= w;
  objective.set_point_weights(k, std::move(weights));
}

bool SelfAdaptiveWeighting::update(std::int64_t step, pde::PinnObjective& objective,
                                   std::span<const double> x) {
  const bool due = step % options_.every == 0 && updated_ != step;
  bool changed = false;
  std::vector<double> r;
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    Term& term = terms_[k];
    const auto& points = objective.points(term.point_set);
    const std::size_t n = points.count();
    if (objective.point_weights(static_cast<int>(k)).empty()) {
      const auto now = static_cast<std::int64_t>(fingerprint(points));
      if (now != term.points_fingerprint) {
        term = {term.point_set,
                std::vector<double>(n, options_.initial),
                std::vector<double>(n),
                std::vector<double>(n),
                0,
                now};
        changed = true;
      }
      install(static_cast<int>(k), objective);
    }
    if (!due) continue;
    r.resize(n);
    objective.term_residuals(x, static_cast<int>(k), r);
    ascend(term, r);
    install(static_cast<int>(k), objective);
    changed = true;
  }
  if (due) updated_ = step;
  return changed;
}

// A step of Adam up the slope of l² r².
void SelfAdaptiveWeighting::ascend(Term& term, std::span<const double> r) const {
  constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  const auto t = static_cast<double>(++term.steps);
  const double correction1 = optim::bias_correction(beta1, t), correction2 = optim::bias_correction(beta2, t);
  for (std::size_t i = 0; i < r.size(); ++i) {
    const double slope = 2 * term.l[i] * r[i] * r[i];
    term.m[i] = optim::first_moment(beta1, term.m[i], slope);
    term.v[i] = optim::second_moment(beta2, optim::weight_of_new(beta2), term.v[i], slope);
    term.l[i] +=
        options_.learning_rate * optim::adam_element(term.m[i], term.v[i], correction1, correction2, epsilon);
  }
}

void SelfAdaptiveWeighting::state(StateVisitor& visitor) {
  visitor.integer("updated", updated_);
  for (auto& term : terms_) {
    visitor.array("l", term.l);
    visitor.array("m", term.m);
    visitor.array("v", term.v);
    visitor.integer("steps", term.steps);
    visitor.integer("points", term.points_fingerprint);
  }
}

std::string SelfAdaptiveWeighting::describe() const {
  double largest = 0;
  for (const auto& term : terms_)
    for (const double l : term.l) largest = std::max(largest, l * l);
  return fmt::format("self-adaptive: largest weight {:.3g}", largest);
}

}  // namespace lather::train
