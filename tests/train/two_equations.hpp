#pragma once
// A problem for tests of weights and tangent kernels, points for it, and a network away from initialization.

#include <vector>

#include "lather/core/rng.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/problem_builder.hpp"
#include "lather/pde/sampling/sampling.hpp"

namespace lather::train {

// Two equations with an unknown, second derivatives and a mixed one: several jet components meet in every
// layer.
inline pde::Problem two_equations(const net::NetworkOptions& network) {
  pde::ProblemBuilder b("two");
  b.coordinate("x", -1, 1);
  b.coordinate("t", 0, 1);
  b.unknown("mu", 0.7);
  b.field("u");
  b.field("v");
  b.equation("first", b.parse("u_t + mu*u*u_x - mu^2*v_xx"), 2);
  b.equation("second", b.parse("v_t - D(u, x, t) + u"), 0.5);
  b.condition("initial", {b.face({{"t", 0}})}, b.parse("u + sin(pi*x) + 0.1*v"));
  b.problem().network = network;
  return b.build();
}

inline void place_points(pde::PinnObjective& objective, std::size_t count) {
  for (std::size_t s = 0; s < objective.problem().point_sets.size(); ++s) {
    const auto& set = objective.problem().point_sets[s];
    objective.set_points(
        static_cast<int>(s),
        pde::points_in(objective.problem().domain, set.pieces.empty() ? pde::Piece{} : set.pieces[0],
                       pde::SamplingMethod::uniform, count, 5, s));
  }
}

inline std::vector<double> shaken(pde::PinnObjective& objective) {
  auto x = objective.initialize(3);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += 0.2 * Random(8, 8).normal(i);  // alphas and biases away from 0
  return x;
}

}  // namespace lather::train
