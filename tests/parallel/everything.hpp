#pragma once
// Everything an objective computes, one after the other, to compare ranks, threads and devices.

#include <cstring>
#include <vector>

#include "lather/pde/objective.hpp"
#include "lather/train/weighting/ntk.hpp"
#include "pde/sample_problems.hpp"

namespace lather::pde::test {

inline Problem two_sets(bool factorized) {
  Problem p =
      make_problem(derivative_sets()[2], {.width = 7, .depth = 2, .weight_factorization = factorized});
  p.point_sets.push_back({"data", PointSet::Kind::data, {}, {}, {}});
  p.terms.push_back({"third", 1, p.symbols->output(0) - sin(p.symbols->coordinate(1)), 2.0});
  return p;
}

// For two_sets; curvature only in double precision.
inline std::vector<double> everything(const Problem& problem, const EngineOptions& options,
                                      std::size_t points = 301) {
  PinnObjective objective(problem, options);
  auto x = objective.initialize(4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.3 * Random(5, 5).normal(i);
  objective.set_points(0, random_points(2, points, 17));
  objective.set_points(1, random_points(2, points / 7, 18));
  std::vector<double> weights(points);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1 + 0.01 * static_cast<double>(i);
  objective.set_point_weights(1, weights);

  const std::size_t n = objective.size(), m = objective.residual_count();
  std::vector<double> all;
  const auto keep = [&](std::span<const double> values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  std::vector<double> g(n), r(m);
  const double loss = objective.value_and_gradient(x, g);
  keep({&loss, 1});
  keep(g);
  keep(objective.term_losses());
  std::vector<std::vector<double>> gradients;
  std::vector<double> losses(3);
  objective.term_gradients(x, losses, gradients);
  for (const auto& gradient : gradients) keep(gradient);
  keep(losses);
  objective.residuals(x, r);
  keep(r);
  std::vector<double> trials(x), values(2), trial_residuals(2 * m);
  for (std::size_t i = 0; i < n; ++i) trials.push_back(x[i] - 0.01 * g[i]);
  objective.values(trials, values);
  keep(values);
  objective.residuals_at(trials, trial_residuals);
  keep(trial_residuals);
  const std::vector<symbolic::Expr> fields{problem.symbols->output(0), problem.symbols->output(1)};
  for (const auto& values : objective.evaluate(x, fields, random_points(2, 100, 3))) keep(values);
  if (options.precision == Precision::float32) return all;

  std::vector<double> JtJ(n * n), Jtr(n), JJt(m * m), Jv(m), Jtw(n), rows(20 * n);
  const double value = objective.normal_equations(x, JtJ.data(), Jtr);
  keep({&value, 1});
  keep(JtJ);
  keep(Jtr);
  objective.residual_gram(x, JJt.data(), r);
  for (std::size_t i = 0; i < m; ++i) keep({&JJt[i * m], i + 1});
  objective.jacobian_times(x, g, Jv);
  keep(Jv);
  objective.transposed_jacobian_times(x, r, Jtw);
  keep(Jtw);
  objective.jacobian_rows(x, points - 6, 20, rows.data());  // from two terms
  keep(rows);
  keep(train::ntk_diagonal(objective, x, 2));
  for (const auto& layer : objective.kronecker_factors(x, optim::KroneckerFactors::Sharing::expand).layers)
    for (const auto& group : layer.groups) {
      keep(group.A);
      keep(group.B);
    }
  return all;
}

// std::vector's operator== treats 0 and -0 as equal.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace lather::pde::test
