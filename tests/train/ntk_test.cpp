// Tangent kernels against gradients taken point by point.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/train/weighting/ntk.hpp"
#include "two_equations.hpp"

namespace lather::train {
namespace {

using pde::PinnObjective;
using pde::Points;
using pde::Problem;

struct Network {
  const char* name;
  net::NetworkOptions options;
};

class EveryNetwork : public ::testing::TestWithParam<Network> {};

TEST_P(EveryNetwork, HasTheKernelDiagonalOfGradientsTakenPointByPoint) {
  const Problem problem = two_equations(GetParam().options);
  PinnObjective objective(problem, {.threads = 2, .tile_rows = 20}), single(problem, {.threads = 1});
  const auto x = shaken(objective);
  single.initialize(3);
  constexpr std::size_t n = 9;  // more than a tile
  place_points(objective, n);
  for (int term = 0; term < 3; ++term) {
    const auto k = ntk_diagonal(objective, x, term);
    ASSERT_EQ(k.size(), n);
    const int set = problem.terms[term].point_set;
    for (std::size_t i = 0; i < n; ++i) {
      place_points(single, 1);
      Points one;
      for (const auto& c : objective.points(set).coordinates) one.coordinates.push_back({c[i]});
      single.set_points(set, one);
      // grad(w r^2) = 2 w r grad r
      std::vector<double> losses(3), r(1);
      std::vector<std::vector<double>> gradients;
      single.term_gradients(x, losses, gradients);
      single.term_residuals(x, term, r);
      const auto& g = gradients[term];
      const double expected = std::inner_product(g.begin(), g.end(), g.begin(), 0.0) /
                              std::pow(2 * problem.terms[term].weight * r[0], 2);
      EXPECT_NEAR(k[i] / expected, 1, 1e-10) << "term " << term << " point " << i;
    }
    EXPECT_NEAR(ntk_trace(objective, x, term), std::accumulate(k.begin(), k.end(), 0.0), 1e-12 * k[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ntk, EveryNetwork,
    ::testing::Values(
        Network{"mlp", {.width = 5, .depth = 2}},
        Network{"mlp_factorized", {.width = 5, .depth = 2, .weight_factorization = true}},
        Network{"modified_mlp", {.type = net::NetworkType::modified_mlp, .width = 8, .depth = 2}},
        Network{"piratenet",
                {.type = net::NetworkType::piratenet, .width = 8, .depth = 2, .fourier_features = 8}},
        Network{"piratenet_trainable",
                {.type = net::NetworkType::piratenet,
                 .width = 5,
                 .depth = 2,
                 .fourier_features = 6,
                 .fourier_trainable = true,
                 .weight_factorization = true}}),
    [](const auto& info) { return info.param.name; });

TEST(Ntk, IsRefusedInSinglePrecision) {
  const Problem problem = two_equations({.width = 4, .depth = 1});
  PinnObjective objective(problem, {.threads = 1, .precision = pde::Precision::float32});
  const auto x = objective.initialize(1);
  place_points(objective, 3);
  EXPECT_THROW(ntk_trace(objective, x, 0), Error);
}

}  // namespace
}  // namespace lather::train
