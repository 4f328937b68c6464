// The engine on CUDA against the engine on the CPU, which is tested in quadruple precision
// (tests/pde/engine_test.cpp).
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/engine_pair.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/core/error.hpp"

namespace lather::pde {
namespace {

class EveryNetworkOnCuda : public testing::TestWithParam<std::tuple<NetworkCase, DerivativeSet>> {};

TEST_P(EveryNetworkOnCuda, AgreesWithTheCpu) {
  REQUIRE_GPU();
  const auto& [network, set] = GetParam();
  Pair p(make_problem(set, network.network), set.dimensions);
  std::vector<double> weights(301);
  for (int i = 0; i < 301; ++i) weights[i] = 0.5 + 0.01 * i;
  for (auto* objective : {&p.cpu, &p.gpu}) {
    objective->set_point_weights(0, weights);
    objective->set_term_weight(2, 3.0);
  }
  std::vector<double> expected(p.x.size()), got(p.x.size());
  const double loss = p.cpu.value_and_gradient(p.x, expected);
  EXPECT_NEAR(p.gpu.value_and_gradient(p.x, got) / loss, 1, 1e-12);
  expect_close(got, expected, 1e-11, "gradient");
  expect_close(p.gpu.term_losses(), p.cpu.term_losses(), 1e-12, "term losses");
  EXPECT_NEAR(p.gpu.value(p.x) / loss, 1, 1e-12);

  std::vector<std::vector<double>> expected_terms, got_terms;
  std::vector<double> losses(4);
  p.cpu.term_gradients(p.x, losses, expected_terms);
  p.gpu.term_gradients(p.x, losses, got_terms);
  for (int k = 0; k < 4; ++k)
    expect_close(got_terms[k], expected_terms[k], 1e-11, "gradient of term " + std::to_string(k));

  std::vector<double> expected_residuals(p.cpu.residual_count()), residuals(p.gpu.residual_count());
  p.cpu.residuals(p.x, expected_residuals);
  p.gpu.residuals(p.x, residuals);
  expect_close(residuals, expected_residuals, 1e-11, "residual");

  const Points anywhere = random_points(set.dimensions, 100, 23);
  const std::vector<Expr> list{p.cpu.problem().symbols->output(0),
                               p.cpu.problem().symbols->output(1, MultiIndex{}.plus(0))};
  const auto expected_values = p.cpu.evaluate(p.x, list, anywhere),
             values = p.gpu.evaluate(p.x, list, anywhere);
  for (int e = 0; e < 2; ++e) expect_close(values[e], expected_values[e], 1e-11, "evaluated");

  // Held-out rows of data: the residual at points other than those of the set.
  const Points rows = random_points(set.dimensions, 30, 29, 1);
  const std::vector<Expr> data{p.cpu.problem().terms[3].residual};
  const auto& columns = p.cpu.problem().point_sets[2].columns;
  expect_close(p.gpu.evaluate(p.x, data, rows, columns)[0], p.cpu.evaluate(p.x, data, rows, columns)[0],
               1e-11, "residual of other rows");
}

INSTANTIATE_TEST_SUITE_P(All, EveryNetworkOnCuda,
                         testing::Combine(testing::ValuesIn(networks()),
                                          testing::ValuesIn(derivative_sets())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

TEST(CudaEngine, AddsFrozenNetworks) {
  REQUIRE_GPU();
  Problem problem = make_problem(derivative_sets()[1], {.width = 6, .depth = 1});
  problem.earlier_networks = {{.width = 5, .depth = 2, .fourier_features = 4},
                              {.width = 4, .depth = 1, .weight_factorization = true}};
  Pair p(problem, 2);
  const std::vector<double> frozen(p.cpu.frozen().begin(), p.cpu.frozen().end());
  p.gpu.set_frozen(frozen);
  std::vector<double> expected(p.x.size()), got(p.x.size());
  const double loss = p.cpu.value_and_gradient(p.x, expected);
  EXPECT_NEAR(p.gpu.value_and_gradient(p.x, got) / loss, 1, 1e-12);
  expect_close(got, expected, 1e-11, "gradient");
  std::vector<double> expected_residuals(p.cpu.residual_count()), residuals(p.gpu.residual_count());
  p.cpu.residuals(p.x, expected_residuals);
  p.gpu.residuals(p.x, residuals);
  expect_close(residuals, expected_residuals, 1e-11, "residual");
}

TEST(CudaEngine, GivesTheSameBitsFromRunToRun) {
  REQUIRE_GPU();
  const Problem problem = make_problem(derivative_sets()[1], {.width = 64, .depth = 4});
  std::vector<double> first;
  for (int run = 0; run < 3; ++run) {
    Pair p(problem, 2);
    std::vector<double> g(p.x.size());
    for (int repeat = 0; repeat < 20; ++repeat) {
      const double loss = p.gpu.value_and_gradient(p.x, g);
      g.push_back(loss);
      if (first.empty()) first = g;
      ASSERT_EQ(g, first);
      g.pop_back();
    }
  }
}

TEST(CudaEngine, DoesNotDependOnBatchesOrOverlapBeyondRounding) {
  REQUIRE_GPU();
  const Problem problem =
      make_problem(derivative_sets()[1], {.type = NetworkType::modified_mlp, .width = 24, .depth = 2});
  for (const EngineOptions options :
       {EngineOptions{.device = Device::cuda, .tile_rows = 100},
        EngineOptions{.device = Device::cuda, .overlap = false},
        EngineOptions{.device = Device::cuda, .tile_rows = 7, .overlap = false}}) {
    Pair p(problem, 2, options);
    std::vector<double> expected(p.x.size()), got(p.x.size());
    p.cpu.value_and_gradient(p.x, expected);
    p.gpu.value_and_gradient(p.x, got);
    expect_close(got, expected, 1e-12, "gradient");
  }
}

TEST(CudaEngine, FollowsNewPointsWeightsAndFrozenFeatures) {
  REQUIRE_GPU();
  const Problem problem =
      make_problem(derivative_sets()[1], {.width = 24, .depth = 2, .fourier_features = 8});
  Pair p(problem, 2);
  std::vector<double> expected(p.x.size()), got(p.x.size());
  for (std::size_t count : {301u, 301u, 77u}) {
    for (auto* objective : {&p.cpu, &p.gpu}) {
      objective->set_points(0, random_points(2, count, count + 5));
      objective->set_term_weight(0, static_cast<double>(count));
    }
    p.cpu.value_and_gradient(p.x, expected);
    p.gpu.value_and_gradient(p.x, got);
    expect_close(got, expected, 1e-12, "gradient");
  }
  const std::vector<double> features(p.cpu.frozen().size(), 0.4);
  for (auto* objective : {&p.cpu, &p.gpu}) {
    objective->set_frozen(features);
    objective->set_point_weights(3, std::vector<double>(40, 0.3));
  }
  p.cpu.value_and_gradient(p.x, expected);
  p.gpu.value_and_gradient(p.x, got);
  expect_close(got, expected, 1e-12, "gradient");
}

TEST(CudaEngine, InSinglePrecisionAgreesWithDouble) {
  REQUIRE_GPU();
  const Problem problem = make_problem(derivative_sets()[1], {.width = 64, .depth = 3});
  Pair fine(problem, 2), coarse(problem, 2, {.device = Device::cuda, .precision = Precision::float32});
  std::vector<double> g(fine.x.size()), h(fine.x.size());
  const double loss = fine.gpu.value_and_gradient(fine.x, g),
               loss32 = coarse.gpu.value_and_gradient(fine.x, h);
  EXPECT_NEAR(loss32 / loss, 1, 1e-5);
  double norm = 0, difference = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    norm += g[i] * g[i];
    difference += (g[i] - h[i]) * (g[i] - h[i]);
  }
  EXPECT_LT(std::sqrt(difference / norm), 1e-4);
  EXPECT_GT(difference, 0) << "single precision was not used";
}

TEST(CudaEngine, SaysWhatIsMissingWhereThereIsNoGpu) {
  if (cuda_report().usable) GTEST_SKIP() << "a GPU is here";
  EXPECT_FALSE(cuda_report().text.empty());
  EXPECT_THROW(
      PinnObjective(make_problem(derivative_sets()[0], {.width = 4, .depth = 1}), {.device = Device::cuda}),
      Error);
}

}  // namespace
}  // namespace lather::pde
