// From a text alone to a loss and its gradient: one test for each kind of equation a user may write.
#include <gtest/gtest.h>

#include <cmath>

#include "lather/core/rng.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/fit_output.hpp"
#include "lather/pde/objective.hpp"

namespace lather::pde {
namespace {

// Random points for every set: the interior, and faces with their fixed coordinates.
void draw_points(PinnObjective& objective) {
  const Problem& p = objective.problem();
  for (std::size_t s = 0; s < p.point_sets.size(); ++s) {
    Points points;
    for (int i = 0; i < p.dimensions(); ++i) {
      auto& c = points.coordinates.emplace_back(37);
      for (std::size_t k = 0; k < c.size(); ++k) {
        c[k] = Random(21, 10 * s + i).uniform(k, p.domain[i].low, p.domain[i].high);
        const auto& pieces = p.point_sets[s].pieces;
        if (!pieces.empty() && !std::isnan(pieces[k % pieces.size()][i])) c[k] = pieces[k % pieces.size()][i];
      }
    }
    objective.set_points(static_cast<int>(s), points);
  }
}

// The slope of the loss along random directions, by central differences of order four.
void expect_exact_gradient(const Problem& problem) {
  PinnObjective objective(problem, {.threads = 2});
  const auto x = objective.initialize(5);
  draw_points(objective);
  std::vector<double> g(x.size());
  objective.value_and_gradient(x, g);
  for (int trial = 0; trial < 4; ++trial) {
    std::vector<double> v(x.size());
    double slope = 0, norm = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = Random(9, trial).normal(i);
      slope += v[i] * g[i];
      norm += g[i] * g[i];
    }
    const double h = 1e-3 / std::sqrt(static_cast<double>(x.size()));
    const auto at = [&](double t) {
      auto moved = x;
      for (std::size_t i = 0; i < v.size(); ++i) moved[i] += t * h * v[i];
      return objective.value(moved);
    };
    EXPECT_NEAR((at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * h), slope, 1e-6 * std::sqrt(norm))
        << problem.name;
  }
}

std::vector<std::string> components(const Problem& problem, int set) {
  std::vector<symbolic::Expr> residuals;
  for (const auto& term : problem.terms)
    if (term.point_set == set) residuals.push_back(term.residual);
  const auto tape =
      net::build_network(problem.network, static_cast<int>(problem.network_inputs.size()), problem.outputs());
  const auto jets = compile_set(problem, tape, residuals).jets;
  std::vector<std::string> names;
  for (int c = 0; c < jets.size(); ++c)
    names.push_back(jets.component_name(c, problem.symbols->coordinate_names()));
  return names;
}

TEST(TextProblem, OfFourthOrderKuramotoSivashinsky) {
  const auto problem = read_problem_text(R"toml(
name = "ks"
coordinates = ["x", "t"]
fields = ["u"]
periodic = ["x"]
[domain]
x = [0, "2*pi"]
t = [0, 1]
[[equation]]
name = "ks"
residual = "u_t + u*u_x + u_xx + 0.1*u_xxxx"
[[condition]]
name = "start"
where = "t = 0"
residual = "u - cos(x)*(1 + sin(x))"
[network]
width = 8
depth = 2
)toml",
                                         "ks.toml");
  EXPECT_EQ(components(problem, 0), (std::vector<std::string>{"", "x", "t", "xx", "xxx", "xxxx"}));
  EXPECT_EQ(components(problem, 1), std::vector<std::string>{""});
  expect_exact_gradient(problem);
}

// Orders 5 and 6, pure and mixed, in products, by short names and by D, in equations and conditions.
TEST(TextProblem, OfSixthOrder) {
  const auto problem = read_problem_text(R"toml(
name = "sixth"
coordinates = ["x", "y"]
fields = ["u"]
[domain]
x = [0, 1]
y = [0, 1]
[ansatz]
outputs = ["N"]
u = "x*N"
[[equation]]
name = "sixth"
residual = "u_xxxyyy*u + 0.01*u_x*u_xxxxxx + D(u*u_y, y, y, y, y, y) - sin(x*y)"
[[condition]]
name = "left"
where = "x = 0"
residual = "u_xxxxx*u_x - exp(y)"
[network]
width = 8
depth = 2
)toml",
                                         "sixth.toml");
  const auto interior = components(problem, 0);
  EXPECT_EQ(interior.size(), 4 * 4 + 3 + 3);  // x^i y^j with i, j <= 3, and three more along each coordinate
  EXPECT_EQ(components(problem, 1), (std::vector<std::string>{"", "x", "xx", "xxx", "xxxx", "xxxxx"}));
  expect_exact_gradient(problem);
}

TEST(TextProblem, WithALaplacianInTwoDimensionsCarriesOneComponentForIt) {
  const auto problem = read_problem_text(R"toml(
name = "poisson"
coordinates = ["x", "y"]
fields = ["u"]
[domain]
x = [0, 1]
y = [0, 1]
[[equation]]
name = "poisson"
residual = "u_xx + u_yy + u^3 + 2*pi^2*sin(pi*x)*sin(pi*y)"
[[condition]]
name = "walls"
where = ["x = 0", "x = 1", "y = 0", "y = 1"]
residual = "u"
[network]
width = 8
depth = 2
)toml",
                                         "poisson.toml");
  EXPECT_EQ(components(problem, 0), (std::vector<std::string>{"", "x", "y", "laplacian"}));
  expect_exact_gradient(problem);
}

TEST(TextProblem, WithAMixedDerivative) {
  const auto problem = read_problem_text(R"toml(
name = "mixed"
coordinates = ["x", "y"]
fields = ["u"]
[domain]
x = [0, 1]
y = [0, 1]
[[equation]]
name = "goursat"
residual = "u_xy - u*D(u*u_x, y) - sin(x*y)"
[network]
width = 8
depth = 2
activation = "swish"
)toml",
                                         "mixed.toml");
  EXPECT_EQ(components(problem, 0), (std::vector<std::string>{"", "x", "y", "xy"}));
  expect_exact_gradient(problem);
}

TEST(TextProblem, OfThreeFields) {
  const auto problem = read_problem_text(R"toml(
name = "flow"
coordinates = ["x", "y"]
fields = ["u", "v", "p"]
[domain]
x = [0, 1]
y = [0, 1]
[parameters]
Re = 100
[let]
lap_u = "u_xx + u_yy"
lap_v = "v_xx + v_yy"
[[equation]]
name = "x_momentum"
residual = "u*u_x + v*u_y + p_x - lap_u/Re"
[[equation]]
name = "y_momentum"
residual = "u*v_x + v*v_y + p_y - lap_v/Re"
[[equation]]
name = "mass"
residual = "u_x + v_y"
[[condition]]
name = "lid"
where = "y = 1"
residual = ["u - 1", "v"]
[network]
type = "modified-mlp"
width = 8
depth = 2
)toml",
                                         "flow.toml");
  EXPECT_EQ(components(problem, 0), (std::vector<std::string>{"", "x", "y", "laplacian"}));
  EXPECT_EQ(problem.terms.size(), 5u);
  expect_exact_gradient(problem);
}

TEST(TextProblem, StartsWithALastLayerFittedToItsConditions) {
  auto problem = read_problem_text(R"toml(
name = "advection"
coordinates = ["x", "t"]
fields = ["u"]
periodic = ["x"]
[domain]
x = [-1, 1]
t = [0, 1]
[[equation]]
name = "advection"
residual = "u_t + u_x"
[[condition]]
name = "initial"
where = "t = 0"
residual = "u - sin(pi*x)^3"
weight = 3
[network]
type = "piratenet"
width = 24
depth = 2
fourier_features = 24
)toml",
                                   "advection.toml");
  for (const bool factorized : {false, true}) {
    problem.network.weight_factorization = factorized;
    PinnObjective objective(problem, {.threads = 2});
    auto x = objective.initialize(5);
    draw_points(objective);
    objective.value(x);
    const double before = objective.term_losses()[1];
    auto fitted = x;
    EXPECT_TRUE(fit_output_layer(objective, fitted, net::OutputFit::conditions));
    objective.value(fitted);
    EXPECT_LT(objective.term_losses()[1], 1e-8 * before) << "37 points, 25 weights and a smooth function";
    // Nothing but the last layer has changed.
    for (const auto& block : objective.layout().blocks()) {
      if (block.name.starts_with("output.")) continue;
      for (std::size_t i = block.offset; i < block.offset + block.size(); ++i)
        ASSERT_EQ(fitted[i], x[i]) << block.name;
    }
    EXPECT_FALSE(fit_output_layer(objective, x, net::OutputFit::none));
  }
}

}  // namespace
}  // namespace lather::pde
