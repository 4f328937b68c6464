// What every optimizer without a line search must do, whatever its rule.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "from_json.hpp"
#include "lather/core/error.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/first_order/multiadam.hpp"
#include "streams.hpp"

namespace lather::optim {
namespace {

using namespace testing_support;
using nlohmann::json;

struct Method {
  std::string name;
  json settings = json::object();
};

// Every entry, and settings that reach the other branches.
const std::vector<Method> kMethods = {
    {"adam", {{"amsgrad", true}, {"weight_decay", 0.01}}},
    {"adam"},
    {"adamw"},
    {"sgd", {{"nesterov", true}}},
    {"muon", {{"matrices", "all"}, {"orthogonalization_frequency", 3}}},
    {"muon"},
    {"shampoo"},
    {"shampoo",
     {{"grafting", "none"},
      {"start_preconditioning_step", 1},
      {"precondition_vectors", true},
      {"epsilon", 1e-3}}},
    {"shampoo", {{"start_preconditioning_step", 1}, {"precondition_frequency", 1}, {"epsilon", 0}}},
    {"soap", {{"precondition_frequency", 3}, {"weight_decay", 0.01}}},
    {"soap", {{"precondition_vectors", true}, {"normalize_gradients", true}, {"max_dimension", 5}}},
    {"purifying-shampoo", {{"precondition_frequency", 2}}},
    {"purifying-shampoo", {{"beta2", 1}}},
    {"purifying-shampoo", {{"eigensolver", "qr"}, {"qr_iterations", 4}, {"precondition_vectors", true}}},
    {"multiadam"},
    {"ss-esoap"},
    {"ss-esoap-paper"},
    {"ss-esoap-paper",
     {{"secant_eigenvalues", "exact"}, {"weight_decay", 0.01}, {"trigger_rule", "per-factor"}}},
    {"ss-esoap", {{"variance_transition", "reset"}, {"tau_scope", "global"}, {"precondition_vectors", true}}},
    {"ss-esoap", {{"variance_transition", "permute"}, {"max_dimension", 5}, {"secant_metric", "shampoo"}}},
    {"ss-esoap",
     {{"variance_transition", "reproject-squared"}, {"inner_update", "momentum"}, {"max_dimension", 5}}},
};

ParameterLayout shapes() {
  ParameterLayout layout;
  layout.add_matrix("wide", 3, 7, Role::input);
  layout.add_vector("bias", 7);
  layout.add_matrix("square", 4, 4);
  layout.add_matrix("row", 1, 5);
  layout.add_matrix("column", 5, 1, Role::output);
  layout.add_matrix("single", 1, 1);
  layout.add_scalar("scalar");
  return layout;
}

class EveryOptimizer : public ::testing::TestWithParam<Method> {
 protected:
  std::unique_ptr<Optimizer> make(const ParameterLayout& layout) const {
    return make_from_json(GetParam().name, layout, GetParam().settings);
  }
};

INSTANTIATE_TEST_SUITE_P(All, EveryOptimizer, ::testing::ValuesIn(kMethods), [](const auto& info) {
  std::string name = std::to_string(info.index) + "_" + info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST_P(EveryOptimizer, GoesOnBitForBitFromASavedState) {
  const auto layout = shapes();
  for (const int saved_at : {1, 2, 7, 20}) {
    const auto original = make(layout);
    GradientStream stream(layout, low_rank_gradients(3, 1, layout.size(), 0.5));
    auto x = random_point(layout.size(), 1);
    original->set_learning_rate_factor(0.5);
    for (int t = 0; t < saved_at; ++t) original->step(stream, x);
    StateWriter writer;
    original->state(writer);

    const auto restored = make(layout);
    StateReader reader(writer.bytes());
    restored->state(reader);
    EXPECT_TRUE(reader.at_end());
    GradientStream same_stream(layout, low_rank_gradients(3, 1, layout.size(), 0.5));
    same_stream.t = stream.t;
    auto y = x;
    for (int t = 0; t < 25; ++t) {
      original->step(stream, x);
      restored->step(same_stream, y);
      ASSERT_EQ(x, y) << "saved at " << saved_at << ", " << t << " steps later";
    }
  }
}

TEST_P(EveryOptimizer, LeavesParametersAndStateAloneWhereTheGradientIsNotFinite) {
  const auto layout = shapes();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL}) {
    const auto disturbed = make(layout), calm = make(layout);
    const auto rule = random_gradients(5);
    GradientStream with_bad(layout, [&](std::size_t t, std::span<double> g) {
      rule(t > 4 ? t - 1 : t, g);
      if (t == 4) g[22] = bad;
    });
    GradientStream without(layout, rule);
    auto x = random_point(layout.size(), 1), y = x;
    for (int t = 0; t < 12; ++t) {
      const auto before = x;
      const auto report = disturbed->step(with_bad, x);
      if (t == 4) {
        EXPECT_EQ(report.status, Status::non_finite);
        EXPECT_NE(report.message.find("bias"), std::string::npos) << report.message;
        EXPECT_EQ(x, before);
        continue;
      }
      EXPECT_EQ(report.status, Status::running) << report.message;
      calm->step(without, y);
      EXPECT_EQ(x, y);
    }
  }
}

TEST_P(EveryOptimizer, SaysThatAZeroGradientIsZeroAndStaysFinite) {
  const auto layout = shapes();
  const auto optimizer = make(layout);
  const auto rule = random_gradients(5);
  GradientStream stream(layout, [&](std::size_t t, std::span<double> g) {
    rule(t, g);
    if (t < 3 || t > 6) std::fill(g.begin(), g.end(), 0.0);
  });
  auto x = random_point(layout.size(), 1);
  for (int t = 0; t < 60; ++t) {
    const auto report = optimizer->step(stream, x);
    if (t < 3 || t > 6) {
      EXPECT_EQ(report.gradient_norm, 0);
      EXPECT_NE(report.message.find("exactly zero"), std::string::npos);
      EXPECT_EQ(report.status == Status::converged, report.step_norm == 0);
    }
    for (const double value : x) ASSERT_TRUE(std::isfinite(value)) << "step " << t;
  }
}

// Always rank one: all Kronecker factors of matrices are singular. Then gradients near the limits of the
// number range.
TEST_P(EveryOptimizer, SurvivesSingularFactorsAndExtremeGradients) {
  const auto layout = shapes();
  for (const double scale : {1.0, 1e-60, 1e30}) {
    const auto optimizer = make(layout);
    GradientStream stream(layout, [&](std::size_t, std::span<double> g) {
      std::fill(g.begin(), g.end(), 0.0);
      for (const auto& block : layout.blocks())
        for (std::size_t j = 0; j < block.cols; ++j)
          g[block.offset + j] = scale * (1 + static_cast<double>(j));
    });
    auto x = random_point(layout.size(), 1);
    for (int t = 0; t < 60; ++t) {
      const auto report = optimizer->step(stream, x);
      ASSERT_EQ(report.status, Status::running) << report.message << " at scale " << scale << ", step " << t;
      for (const double value : x) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

// f(W, b) = 1/2 |A W + 1 b - T|^2 over the rows, realizable: the minimum is zero.
class LeastSquares final : public Objective {
 public:
  LeastSquares() {
    layout_.add_matrix("W", kIn, kOut);
    layout_.add_vector("b", kOut);
    const Random random(17, 0);
    for (std::size_t i = 0; i < kRows * kIn; ++i) A_.push_back(random.normal(i) / std::sqrt(kRows));
    truth_ = random_point(layout_.size(), 23);
  }
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double> x) override {
    std::vector<double> g(x.size());
    return value_and_gradient(x, g);
  }
  double value_and_gradient(std::span<const double> x, std::span<double> g) override {
    std::fill(g.begin(), g.end(), 0.0);
    double value = 0;
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t j = 0; j < kOut; ++j) {
        double residual = 0.3 * (x[kIn * kOut + j] - truth_[kIn * kOut + j]);
        for (std::size_t k = 0; k < kIn; ++k)
          residual += A_[r * kIn + k] * (x[k * kOut + j] - truth_[k * kOut + j]);
        value += residual * residual / 2;
        for (std::size_t k = 0; k < kIn; ++k) g[k * kOut + j] += residual * A_[r * kIn + k];
        g[kIn * kOut + j] += 0.3 * residual;
      }
    return value;
  }

 private:
  static constexpr std::size_t kIn = 6, kOut = 4, kRows = 20;
  ParameterLayout layout_;
  std::vector<double> A_, truth_;
};

TEST_P(EveryOptimizer, SolvesALeastSquaresProblem) {
  LeastSquares problem;
  auto settings = GetParam().settings;
  // Measured: starts that differ by 1e-16 to 1e-8 end between 1e-13 and 5e3 times the first loss.
  if (settings.value("variance_transition", "") == "reset")
    GTEST_SKIP() << "momentum from before a reset meets a variance of one gradient: steps of any length";
  // Squares that are summed, not averaged, make steps shorter and shorter, so they start longer.
  settings["learning_rate"] = settings.value("beta2", 0.9) == 1 ? 0.5 : 0.02;
  settings["weight_decay"] = 0;  // it would move the minimum
  const auto optimizer = make_from_json(GetParam().name, problem.layout(), settings);
  auto x = std::vector<double>(problem.size());
  const double start = problem.value(x);
  const int steps = 1500;
  for (int t = 0; t < steps; ++t) {
    optimizer->set_learning_rate_factor(1 - static_cast<double>(t) / steps);
    const auto report = optimizer->step(problem, x);
    if (report.status == Status::converged) break;
    ASSERT_EQ(report.status, Status::running) << report.message;
  }
  EXPECT_LT(problem.value(x), 1e-4 * start);
}

struct ArrayBytes final : StateVisitor {
  void real(std::string_view, double&) override {}
  void integer(std::string_view, std::int64_t&) override {}
  void array(std::string_view, std::span<double> values) override { bytes += values.size_bytes(); }
  void array(std::string_view, std::vector<double>& values) override { bytes += bytes_of(values); }
  bool reading() const override { return false; }
  std::size_t bytes = 0;
};

// It holds what it saves; gradient, change and scratch of one layer come on top.
TEST_P(EveryOptimizer, SaysHowMuchMemoryItHolds) {
  const auto layout = one_matrix(40, 30);
  const auto optimizer = make(layout);
  GradientStream stream(layout, random_gradients(1));
  auto x = random_point(layout.size(), 1);
  for (int t = 0; t < 3; ++t) optimizer->step(stream, x);
  ArrayBytes saved;
  optimizer->state(saved);
  EXPECT_GE(optimizer->memory_bytes(), saved.bytes + layout.size() * sizeof(double));
  EXPECT_LE(optimizer->memory_bytes(), 6 * saved.bytes);
}

// Layers are counted, not sides; a vector counts as a layer if it is preconditioned.
TEST(Soap, CountsTheBasesItReplaces) {
  const auto layout = shapes();
  for (const bool vectors_too : {false, true}) {
    const auto soap = make_from_json("soap", layout,
                                     {{"precondition_frequency", 3}, {"precondition_vectors", vectors_too}});
    GradientStream stream(layout, random_gradients(1));
    auto x = random_point(layout.size(), 1);
    for (int t = 1; t <= 10; ++t)
      EXPECT_EQ(soap->step(stream, x).basis_updates, t % 3 == 1 ? (vectors_too ? 7 : 5) : 0) << t;
  }
}

TEST_P(EveryOptimizer, RefusesParametersOfAnotherSize) {
  const auto layout = shapes();
  const auto optimizer = make(layout);
  GradientStream stream(layout, random_gradients(1));
  std::vector<double> x(3);
  EXPECT_THROW(optimizer->step(stream, x), Error);
}

TEST(MultiAdam, OneGroupIsAdamAndTwoGroupsAverageTheirDirections) {
  const auto layout = shapes();
  const json constants = {{"beta1", 0.99}, {"beta2", 0.99}, {"learning_rate", 0.01}};
  const auto adam = make_from_json("adam", layout, constants),
             multi = make_from_json("multiadam", layout, constants);
  GradientStream a(layout, random_gradients(1)), b(layout, random_gradients(1));
  auto x = random_point(layout.size(), 1), y = x;
  for (int t = 0; t < 20; ++t) {
    adam->step(a, x);
    multi->step(b, y);
  }
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-15);

  struct TwoTerms final : Objective {
    ParameterLayout l;
    TwoTerms() { l.add_scalar("x"); }
    const ParameterLayout& layout() const override { return l; }
    double value(std::span<const double>) override { return 0; }
    double value_and_gradient(std::span<const double>, std::span<double>) override { return 0; }
    std::vector<std::string> term_names() const override { return {"pde", "boundary"}; }
    std::vector<bool> term_is_equation() const override { return {true, false}; }
    void term_gradients(std::span<const double>, std::span<double> losses,
                        std::vector<std::vector<double>>& g) override {
      losses[0] = 3;
      losses[1] = 4;
      g = {{1000.0}, {-0.001}};
    }
  } two;
  const auto groups = make_from_json(
      "multiadam", two.l, {{"learning_rate", 0.1}, {"group_weights", {0.75, 0.25}}, {"epsilon", 0}});
  std::vector<double> z = {0};
  const auto report = groups->step(two, z);
  EXPECT_EQ(report.loss, 7);
  EXPECT_NEAR(z[0], -0.1 * (0.75 - 0.25), 1e-15);  // each group's first direction is its sign
  EXPECT_THROW(make_from_json("multiadam", two.l, {{"groups", {0, 0, 1}}})->step(two, z), Error);
}

// Equations are one group, everything else the other (Yao et al. 2023).
TEST(MultiAdam, HasTwoGroupsUnlessToldOtherwise) {
  const auto groups = [](const std::vector<bool>& equation) { return loss_groups({}, equation, 0); };
  EXPECT_EQ(groups({true, false, true, false}).of_term, (std::vector<std::size_t>{0, 1, 0, 1}));
  EXPECT_EQ(groups({true, false, true, false}).weights, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(groups({false, false}).of_term, (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(groups({true, true}).weights, (std::vector<double>{1}));
}

TEST(Muon, MapsSingularValuesNearOne) {
  // A diagonal gradient has its singular values on the diagonal; the step is the orthogonalized momentum
  // times the rate.
  const auto layout = one_matrix(4, 4);
  const auto muon = make_from_json("muon", layout, {{"learning_rate", 1}, {"matrices", "all"}});
  GradientStream stream(layout, [](std::size_t, std::span<double> g) {
    std::fill(g.begin(), g.end(), 0.0);
    for (int i = 0; i < 4; ++i) g[5 * i] = std::pow(0.2, i);
  });
  std::vector<double> x(16);
  muon->step(stream, x);
  for (int i = 0; i < 16; ++i) {
    if (i % 5 == 0) {
      EXPECT_GT(-x[i], 0.68);
      EXPECT_LT(-x[i], 1.21);
    } else {
      EXPECT_NEAR(x[i], 0, 1e-14);
    }
  }
}

}  // namespace
}  // namespace lather::optim
