#pragma once
// A problem built in C++ that trains in a moment, and how to train it without a run folder. As a file:
// small_problem.hpp.

#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/optim/first_order/adam.hpp"
#include "lather/pde/problem_builder.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/train/training_options.hpp"
#include "lather/train/weighting/weighting.hpp"

namespace lather::train::test {

// u_t = kappa u_xx, u = exp(-kappa pi^2 t) sin(pi x) on [0, 1] × [0, 1]
inline pde::Problem heat(double kappa = 0.2, int width = 12) {
  pde::ProblemBuilder b("heat");
  b.coordinate("x", 0, 1);
  b.coordinate("t", 0, 1);
  b.parameter("kappa", kappa);
  const auto u = b.field("u");
  b.equation("heat", b.parse("u_t - kappa*u_xx"));
  b.condition("initial", {b.face({{"t", 0}})}, b.parse("u - sin(pi*x)"), 10);
  b.condition("walls", {b.face({{"x", 0}}), b.face({{"x", 1}})}, u, 10);
  b.exact("u", b.parse("exp(-kappa*pi^2*t)*sin(pi*x)"));
  b.problem().network.width = width;
  b.problem().network.depth = 2;
  return b.build();
}

inline int set_named(const pde::Problem& p, const std::string& name) {
  for (std::size_t s = 0; s < p.point_sets.size(); ++s)
    if (p.point_sets[s].name == name) return static_cast<int>(s);
  return -1;
}

// As in a recipe.
inline TrainingOptions training(const nlohmann::json& recipe) {
  return options::from_json<TrainingOptions>("training", recipe);
}

// Trains with the points and weights of a recipe; the rate falls to a hundredth over the steps.
inline void train(pde::PinnObjective& objective, std::vector<double>& x, const nlohmann::json& recipe,
                  int steps, double rate = 5e-3) {
  const TrainingOptions options = training(recipe);
  pde::PointSource source(objective.problem(), pde::sampling_settings(options.points, objective.problem()),
                          1);
  const auto weighting = make_weighting(options.weighting, options.causal, objective.problem());
  optim::Adam adam(objective.layout(), {.learning_rate = rate});
  for (int step = 0; step < steps; ++step) {
    source.update(step, objective, x);
    weighting->update(step, objective, x);
    adam.set_learning_rate_factor(std::pow(0.01, static_cast<double>(step) / steps));
    adam.step(objective, x);
  }
}

}  // namespace lather::train::test
