// Weights against their formulas, recomputed from gradients and residuals.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "heat_training.hpp"
#include "lather/core/error.hpp"
#include "lather/train/weighting/ntk.hpp"
#include "lather/train/weighting/point_weighting.hpp"
#include "lather/train/weighting/term_weighting.hpp"
#include "two_equations.hpp"

namespace lather::train {
namespace {

using Json = nlohmann::json;

std::unique_ptr<Weighting> weighting_of(const Json& recipe, const pde::Problem& problem) {
  const TrainingOptions options = test::training(recipe);
  return make_weighting(options.weighting, options.causal, problem);
}

using pde::PinnObjective;
using pde::Points;
using pde::Problem;

struct Bench {
  Problem problem = two_equations({.width = 6, .depth = 2});
  PinnObjective objective{problem, {.threads = 1}};
  std::vector<double> x = shaken(objective);
  Bench() { place_points(objective, 40); }
};

TEST(GradientNorm, MovesWeightsTowardsTheSumOverTheOwnNorm) {
  Bench b;
  std::vector<double> losses(3);
  std::vector<std::vector<double>> gradients;
  b.objective.term_gradients(b.x, losses, gradients);
  std::vector<double> s(3);
  for (int k = 0; k < 3; ++k)
    s[k] =
        std::sqrt(std::inner_product(gradients[k].begin(), gradients[k].end(), gradients[k].begin(), 0.0)) /
        b.problem.terms[k].weight;
  const double sum = s[0] + s[1] + s[2];
  const auto weighting =
      weighting_of({{"weighting", {{"method", "gradient-norm"}, {"every", 7}, {"average", 0.6}}}}, b.problem);
  EXPECT_TRUE(weighting->update(0, b.objective, b.x));
  std::vector<double> lambda(3);
  for (int k = 0; k < 3; ++k) {
    lambda[k] = 0.6 * b.problem.terms[k].weight + 0.4 * sum / (s[k] + 1e-5 * sum / 3);
    EXPECT_NEAR(b.objective.term_weight(k), lambda[k], 1e-12 * lambda[k]);
  }
  for (int step = 1; step < 7; ++step) EXPECT_FALSE(weighting->update(step, b.objective, b.x));
  // The norms of the bare losses do not depend on the weights: the second update moves on to the same target.
  EXPECT_TRUE(weighting->update(7, b.objective, b.x));
  for (int k = 0; k < 3; ++k)
    EXPECT_NEAR(b.objective.term_weight(k), 0.6 * lambda[k] + 0.4 * sum / (s[k] + 1e-5 * sum / 3),
                1e-11 * lambda[k]);
}

TEST(NtkWeighting, UsesMeanDiagonals) {
  Bench b;
  std::vector<double> s(3);
  for (int k = 0; k < 3; ++k) s[k] = ntk_trace(b.objective, b.x, k) / 40;
  const double sum = s[0] + s[1] + s[2];
  weighting_of({{"weighting", {{"method", "ntk"}, {"average", 0}}}}, b.problem)->update(0, b.objective, b.x);
  for (int k = 0; k < 3; ++k)
    EXPECT_NEAR(b.objective.term_weight(k), sum / (s[k] + 1e-5 * sum / 3), 1e-11 * sum / s[k]);
}

TEST(Causal, WeightsAreTheFormula) {
  const std::vector<double> losses{0.5, 0.25, 2};
  const auto w = causal_weights(losses, 2);
  EXPECT_EQ(w[0], 1);
  EXPECT_NEAR(w[1], std::exp(-1.0), 1e-15);
  EXPECT_NEAR(w[2], std::exp(-1.5), 1e-15);
}

TEST(Causal, GivesEveryPointTheWeightOfItsChunkAndTheSmallestOfItsEquations) {
  Bench b;
  const auto weighting = weighting_of({{"causal", {{"tolerance", 0.3}, {"chunks", 4}}}}, b.problem);
  EXPECT_TRUE(weighting->update(0, b.objective, b.x));
  const auto& t = b.objective.points(0).coordinates[1];
  std::vector<double> sorted = t;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::vector<double>> r(2, std::vector<double>(40));
  for (int k = 0; k < 2; ++k) b.objective.term_residuals(b.x, k, r[k]);
  const auto chunk_of = [&](double time) {
    return static_cast<int>((std::lower_bound(sorted.begin(), sorted.end(), time) - sorted.begin()) / 10);
  };
  for (std::size_t i = 0; i < 40; ++i) {
    double expected = 1;
    for (int k = 0; k < 2; ++k) {
      double earlier = 0;  // sum over earlier chunks of the mean square
      for (std::size_t j = 0; j < 40; ++j)
        if (chunk_of(t[j]) < chunk_of(t[i])) earlier += r[k][j] * r[k][j] / 10;
      expected = std::min(expected, std::exp(-0.3 * earlier));
    }
    for (int k = 0; k < 2; ++k) EXPECT_NEAR(b.objective.point_weights(k)[i], expected, 1e-12);
  }
  EXPECT_TRUE(b.objective.point_weights(2).empty()) << "the initial condition is not weighed";
}

// The bundled Gray-Scott file weighs its equations by 1e-6 in the loss.
TEST(Causal, DoesNotDependOnTheWeightOfTheTermInTheLoss) {
  const auto smallest_weight = [](double weight) {
    pde::ProblemBuilder b("decay");
    b.coordinate("t", 0, 1);
    b.field("u");
    b.equation("decay", b.parse("u_t + 3*u - 5"), weight);
    const Problem problem = b.build();
    PinnObjective objective(problem, {.threads = 1});
    const auto x = objective.initialize(1);
    place_points(objective, 40);
    const auto weighting = weighting_of({{"causal", 0.1}}, problem);
    weighting->update(0, objective, x);
    const auto w = objective.point_weights(0);
    return *std::min_element(w.begin(), w.end());
  };
  EXPECT_EQ(smallest_weight(1e-6), smallest_weight(1));
  EXPECT_LT(smallest_weight(1e-6), 0.5);
}

TEST(Balance, IsTheFormula) {
  std::vector<double> lambda{2, 0, 1};
  balance(lambda, std::vector<double>{8, 0, 2}, 0.5);  // mean 5 of the two terms that count
  const double a = 2 * std::sqrt(5.0 / 8), b = std::sqrt(5.0 / 2);
  EXPECT_NEAR(lambda[0], a / ((a + b) / 2), 1e-11);
  EXPECT_EQ(lambda[1], 0);
  EXPECT_NEAR(lambda[2], b / ((a + b) / 2), 1e-11);
}

TEST(Balance, DrawsTheWeightedLossesOfFixedResidualsTogether) {
  Bench b;
  const auto weighting = weighting_of({{"weighting", "balance"}}, b.problem);
  const auto spread = [&] {
    b.objective.value(b.x);
    const auto [low, high] =
        std::minmax_element(b.objective.term_losses().begin(), b.objective.term_losses().end());
    return *high / *low;
  };
  const double before = spread();
  for (int step = 0; step < 100; ++step) EXPECT_TRUE(weighting->update(step, b.objective, b.x));
  // The logarithm of the spread shrinks by 1 - p at every step.
  EXPECT_NEAR(std::log(spread()), std::log(before) * std::pow(0.95, 100), 1e-6);
  double sum = 0;
  for (int k = 0; k < 3; ++k) sum += b.objective.term_weight(k);
  EXPECT_NEAR(sum / 3, 1, 1e-12);
}

TEST(Causal, TakesTheNextToleranceWhenAllWeightsExceedTheThreshold) {
  Bench b;
  CausalOptions options;
  options.tolerances = {1e-6, 1e-5, 1e3};
  options.every = 2;
  CausalWeighting weighting(options, b.problem);
  weighting.update(0, b.objective, b.x);
  EXPECT_EQ(weighting.tolerance(), 1e-6);
  weighting.update(1, b.objective, b.x);
  EXPECT_EQ(weighting.tolerance(), 1e-6);
  weighting.update(2, b.objective, b.x);
  EXPECT_EQ(weighting.tolerance(), 1e-5);
  weighting.update(4, b.objective, b.x);
  EXPECT_EQ(weighting.tolerance(), 1e3);
  weighting.update(6, b.objective, b.x);
  EXPECT_EQ(weighting.tolerance(), 1e3);
  EXPECT_LT(*std::min_element(b.objective.point_weights(0).begin(), b.objective.point_weights(0).end()), 0.5);
}

TEST(Causal, FollowsThePointsWhenTheyChange) {
  Bench b;
  const auto weighting = weighting_of({{"causal", {{"tolerance", 1.0}, {"every", 100}}}}, b.problem);
  weighting->update(0, b.objective, b.x);
  EXPECT_FALSE(weighting->update(1, b.objective, b.x));
  place_points(b.objective, 50);
  EXPECT_TRUE(weighting->update(2, b.objective, b.x));
  EXPECT_EQ(b.objective.point_weights(0).size(), 50u);
}

// With a slope of constant sign, Adam's steps are close to its learning rate: after
// three of 0.01, l is about 1.03, and the weight is its square.
TEST(SelfAdaptive, WeightsGrowByTheLearningRateWhereTheResidualStays) {
  Bench b;
  const auto weighting =
      weighting_of({{"weighting", {{"method", "self-adaptive"}, {"learning_rate", 0.01}}}}, b.problem);
  for (int step = 0; step < 3; ++step) EXPECT_TRUE(weighting->update(step, b.objective, b.x));
  for (int k = 0; k < 3; ++k)
    for (const double w : b.objective.point_weights(k)) EXPECT_NEAR(w, 1.03 * 1.03, 2e-3);
}

// The residual u + step(x) of a network that becomes zero: it vanishes on the left and stays on the right.
TEST(SelfAdaptive, WeightsGrowMoreWhereTheResidualStays) {
  pde::ProblemBuilder builder("vanishing");
  builder.coordinate("x", -1, 1);
  builder.coordinate("t", 0, 1);
  builder.field("u");
  builder.equation("vanishing", builder.parse("u + step(x)"));
  builder.problem().network.width = 4;
  const Problem problem = builder.build();
  PinnObjective objective(problem, {.threads = 1});
  auto x = objective.initialize(1);
  place_points(objective, 30);
  const auto weighting = weighting_of({{"weighting", "self-adaptive"}}, problem);
  for (int step = 0; step < 12; ++step) {
    if (step == 2) std::fill(x.begin(), x.end(), 0.0);
    weighting->update(step, objective, x);
  }
  double most_left = 0, least_right = HUGE_VAL;
  for (std::size_t i = 0; i < 30; ++i) {
    const double w = objective.point_weights(0)[i];
    EXPECT_GT(w, 1);
    if (objective.points(0).coordinates[0][i] < 0)
      most_left = std::max(most_left, w);
    else
      least_right = std::min(least_right, w);
  }
  EXPECT_GT(most_left, 1);
  EXPECT_LT(most_left, least_right);
}

TEST(SelfAdaptive, DoesNotMoveWhereTheResidualVanishes) {
  pde::ProblemBuilder builder("half");
  builder.coordinate("x", -1, 1);
  builder.coordinate("t", 0, 1);
  builder.field("u");
  builder.equation("half", builder.parse("step(x)*(u + 3)"));
  builder.problem().network.width = 4;
  const Problem problem = builder.build();
  PinnObjective objective(problem, {.threads = 1});
  const auto x = objective.initialize(1);
  place_points(objective, 30);
  const auto weighting = weighting_of({{"weighting", "self-adaptive"}}, problem);
  for (int step = 0; step < 10; ++step) weighting->update(step, objective, x);
  for (std::size_t i = 0; i < 30; ++i) {
    const double w = objective.point_weights(0)[i];
    if (objective.points(0).coordinates[0][i] < 0)
      EXPECT_EQ(w, 1);
    else
      EXPECT_GT(w, 1.05);
  }
}

// Train, save in the middle, continue in new objects: the same bits as without the break. Points change in
// between, too.
TEST(EveryWeighting, GoesOnFromASavedStateBitForBit) {
  const std::vector<Json> recipes{
      {{"weighting", {{"method", "gradient-norm"}, {"every", 3}}}},
      {{"weighting", {{"method", "ntk"}, {"every", 5}}}},
      {{"weighting", {{"method", "balance"}, {"every", 2}}}},
      {{"weighting", "self-adaptive"}},
      {{"causal", 0.5}, {"weighting", {{"method", "gradient-norm"}, {"every", 4}}}},
      {{"causal", {{"tolerances", {1e-3, 1e-2}}, {"every", 3}}}}};
  for (Json recipe : recipes) {
    recipe["points"] = {{"interior", 64}, {"initial", 16}, {"walls", 16}};
    for (const int every : {0, 8}) {
      recipe["sampling"] = {{"every", every}};
      const Problem problem = test::heat(0.2, 6);
      const auto run = [&](int break_at) {
        auto objective = std::make_unique<PinnObjective>(problem, pde::EngineOptions{.threads = 1});
        auto x = objective->initialize(1);
        auto source = std::make_unique<pde::PointSource>(
            problem, pde::sampling_settings(test::training(recipe).points, problem), 1);
        auto weighting = weighting_of(recipe, problem);
        std::vector<double> g(x.size()), trace;
        for (int step = 0; step < 14; ++step) {
          if (step == break_at) {
            StateWriter writer;
            source->state(writer);
            weighting->state(writer);
            objective = std::make_unique<PinnObjective>(problem, pde::EngineOptions{.threads = 1});
            source = std::make_unique<pde::PointSource>(
                problem, pde::sampling_settings(test::training(recipe).points, problem), 1);
            weighting = weighting_of(recipe, problem);
            StateReader reader(writer.bytes());
            source->state(reader);
            weighting->state(reader);
            EXPECT_TRUE(reader.at_end());
          }
          trace.push_back(source->update(step, *objective, x));
          trace.push_back(weighting->update(step, *objective, x));
          trace.push_back(objective->value_and_gradient(x, g));
          for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 1e-3 * g[i];
        }
        trace.insert(trace.end(), x.begin(), x.end());
        return trace;
      };
      const auto whole = run(-1);
      for (const int break_at : {1, 8, 9})
        EXPECT_EQ(run(break_at), whole) << recipe.dump() << " broken at " << break_at;
    }
  }
}

std::string error_of(const Json& recipe, const Problem& problem) {
  try {
    weighting_of(recipe, problem);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(MakeWeighting, SaysWhatIsWrong) {
  const Problem problem = test::heat();
  EXPECT_NE(error_of({{"weighting", "gradientnorm"}}, problem).find("did you mean 'gradient-norm'"),
            std::string::npos);
  EXPECT_NE(error_of({{"weighting", {{"method", "ntk"}, {"evry", 3}}}}, problem).find("every"),
            std::string::npos);
  EXPECT_NE(error_of({{"weighting", {{"method", "ntk"}, {"average", 1.0}}}}, problem).find("average"),
            std::string::npos);
  EXPECT_NE(error_of({{"weighting", "self-adaptive"}, {"causal", 1.0}}, problem).find("choose one"),
            std::string::npos);
  EXPECT_NE(error_of({{"causal", {{"coordinate", "s"}}}}, problem).find("coordinate for the time"),
            std::string::npos);
  EXPECT_NE(error_of({{"causal", {{"tolerances", {2, 1}}}}}, problem).find("increasing"), std::string::npos);
}

TEST(MakeWeighting, TakesACausalToleranceOfZeroAsOff) {
  const Problem problem = test::heat();
  EXPECT_EQ(weighting_of({{"causal", 0}}, problem)->describe(), "fixed");
  EXPECT_EQ(
      weighting_of({{"causal", {{"tolerance", 0}}}, {"weighting", "self-adaptive"}}, problem)->next_change(0),
      1);
}

TEST(MakeWeighting, DescribesItselfInALine) {
  const Problem problem = test::heat();
  EXPECT_EQ(weighting_of(Json::object(), problem)->describe(), "fixed");
  EXPECT_EQ(weighting_of(Json::object(), problem)->next_change(0), kNever);
  EXPECT_EQ(weighting_of({{"weighting", "ntk"}, {"causal", 2}}, problem)->describe(),
            "causal: eps 2, 32 chunks, smallest weight 1; ntk: heat 1, initial 10, walls 10");
}

}  // namespace
}  // namespace lather::train
