#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/optim/first_order/adam.hpp"
#include "lather/optim/wrappers/clipped.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "lather/optim/wrappers/schedule_free.hpp"
#include "lather/optim/wrappers/scheduled.hpp"
#include "lather/optim/wrappers/switching.hpp"
#include "quasi_support.hpp"

namespace lather::optim {
namespace {

using namespace testing;
using Json = nlohmann::json;

// x <- x - rate * factor * g, the plainest inner optimizer.
class Descent final : public Optimizer {
 public:
  Descent(const ParameterLayout& layout, double rate) : Optimizer(layout), rate_(rate) {}
  StepReport take_step(Objective& objective, std::span<double> x) override {
    std::vector<double> g(x.size());
    StepReport report;
    report.loss = objective.value_and_gradient(x, g);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= rate_ * factor_ * g[i];
    return report;
  }
  void set_learning_rate_factor(double factor) override { factor_ = factor; }
  void state(StateVisitor& v) override { v.real("factor", factor_); }

 private:
  double rate_, factor_ = 1;
};

TEST(Schedule, FactorsAreThoseOfTheFormulas) {
  EXPECT_DOUBLE_EQ(linear_warm_up(0, 9, 0), 0.1);
  EXPECT_DOUBLE_EQ(linear_warm_up(8, 9, 0), 0.9);
  EXPECT_EQ(linear_warm_up(9, 9, 0), 1);
  EXPECT_EQ(linear_warm_up(0, 0, 0), 1);
  EXPECT_DOUBLE_EQ(exponential_decay(2000, 0.9, 1000, false), 0.81);
  EXPECT_DOUBLE_EQ(exponential_decay(1999, 0.9, 1000, true), 0.9);
  EXPECT_DOUBLE_EQ(cosine_decay(0, 100, 0.1), 1);
  EXPECT_DOUBLE_EQ(cosine_decay(50, 100, 0.1), 0.55);
  EXPECT_DOUBLE_EQ(cosine_decay(500, 100, 0.1), 0.1);
  const std::vector<double> boundaries{10, 20}, factors{0.5, 0.1};
  EXPECT_EQ(piecewise_constant(9, boundaries, factors), 1);
  EXPECT_EQ(piecewise_constant(10, boundaries, factors), 0.5);
  EXPECT_EQ(piecewise_constant(25, boundaries, factors), 0.1);
}

TEST(Schedule, AWarmUpIsComposedWithADecayThatStartsAfterIt) {
  ScheduleOptions o;
  options::set_all(o, "schedule", Json{{"warmup_steps", 10}, {"decay", "cosine"}, {"total_steps", 100}});
  EXPECT_LT(schedule_factor(o, 0), 0.1);
  EXPECT_DOUBLE_EQ(schedule_factor(o, 10), 1);
  EXPECT_DOUBLE_EQ(schedule_factor(o, 60), 0.5);
  EXPECT_NEAR(schedule_factor(o, 110), 0, 1e-16);
}

TEST(Schedule, ListsThatDoNotFitAreRefused) {
  ScheduleOptions o;
  o.boundaries = {10};
  EXPECT_THROW(o.validate(), Error);
  o.boundaries = {10, 5}, o.factors = {1, 1};
  EXPECT_THROW(o.validate(), Error);
}

TEST(Scheduled, MultipliesTheLearningRateOfTheInnerOptimizerAndOfTheOneOutside) {
  DiagonalQuadratic objective({1});
  Scheduled scheduled(std::make_unique<Descent>(objective.layout(), 0.5),
                      {.decay = Decay::piecewise, .boundaries = {1}, .factors = {0.5}});
  std::vector<double> x{1};
  scheduled.step(objective, x);
  EXPECT_DOUBLE_EQ(x[0], 0.5);
  scheduled.set_learning_rate_factor(0.5);
  scheduled.step(objective, x);  // 0.5 * 0.5 * 0.5
  EXPECT_DOUBLE_EQ(x[0], 0.5 * (1 - 0.125));
}

TEST(Clipping, ShortensLongGradientsAndLeavesShortOnesAlone) {
  std::vector<double> g{3, 4};
  EXPECT_TRUE(clip_gradient({Clip::norm, 1}, g));
  EXPECT_NEAR(g[0], 0.6, 1e-15);
  EXPECT_NEAR(g[1], 0.8, 1e-15);
  EXPECT_FALSE(clip_gradient({Clip::norm, 2}, g));
  g = {-3, 0.5};
  EXPECT_TRUE(clip_gradient({Clip::value, 1}, g));
  EXPECT_EQ(g, (std::vector<double>{-1, 0.5}));
  g = {std::nan(""), 1};
  clip_gradient({Clip::norm, 1}, g);
  EXPECT_TRUE(std::isnan(g[0]));  // left for the optimizer to report
}

TEST(Clipping, LimitsTheStepOfTheInnerOptimizer) {
  DiagonalQuadratic objective({1000});
  Clipped clipped(std::make_unique<Descent>(objective.layout(), 0.1), {Clip::norm, 2});
  std::vector<double> x{1};
  clipped.step(objective, x);
  EXPECT_DOUBLE_EQ(x[0], 0.8);
}

TEST(ScheduleFree, WithBetaZeroIsPolyakAveragingOfTheInnerIterates) {
  DiagonalQuadratic objective({1});
  ScheduleFree free(std::make_unique<Descent>(objective.layout(), 0.5), {.beta = 0});
  std::vector<double> x{1};
  double z = 1, mean = 0;
  for (int t = 1; t <= 5; ++t) {
    free.step(objective, x);
    z *= 0.5;
    mean += (z - mean) / t;
    EXPECT_NEAR(x[0], mean, 1e-15);
  }
}

TEST(ScheduleFree, ConvergesUnderNoiseWhereTheConstantRateDoesNot) {
  class Noisy final : public Objective {
   public:
    Noisy() { layout_.add_scalar("x"); }
    const ParameterLayout& layout() const override { return layout_; }
    double value(std::span<const double> x) override { return 0.5 * x[0] * x[0]; }
    double value_and_gradient(std::span<const double> x, std::span<double> g) override {
      g[0] = x[0] + random_.normal(calls_++);
      return value(x);
    }

   private:
    ParameterLayout layout_;
    Random random_{5, 1};
    std::uint64_t calls_ = 0;
  };
  Noisy noisy_free, noisy_plain;
  ScheduleFree free(std::make_unique<Descent>(noisy_free.layout(), 0.5), {});
  Descent plain(noisy_plain.layout(), 0.5);
  std::vector<double> x{3}, w{3};
  double mean_square_free = 0, mean_square_plain = 0;
  for (int k = 0; k < 4000; ++k) {
    free.step(noisy_free, x);
    plain.step(noisy_plain, w);
    if (k >= 3000) {
      mean_square_free += x[0] * x[0] / 1000;
      mean_square_plain += w[0] * w[0] / 1000;
    }
  }
  EXPECT_LT(mean_square_free, mean_square_plain / 20);
}

TEST(Switching, HappensAtItsStepOnAPlateauOrWhenTheFirstCanDoNoMore) {
  Rosenbrock objective(2);
  {
    Switching switching(std::make_unique<Descent>(objective.layout(), 1e-4),
                        std::make_unique<Lbfgs>(objective.layout(), LbfgsOptions{}), {.at_step = 5});
    std::vector<double> x{-1.2, 1};
    for (int k = 0; k < 5; ++k) switching.step(objective, x);
    EXPECT_FALSE(switching.switched());
    EXPECT_NE(switching.step(objective, x).message.find("switched"), std::string::npos);
    EXPECT_LT(run_steps(switching, objective, x, 60), 1e-15);
  }
  {
    Switching switching(std::make_unique<Descent>(objective.layout(), 0.0),
                        std::make_unique<Lbfgs>(objective.layout(), LbfgsOptions{}), {.plateau_steps = 3});
    std::vector<double> x{-1.2, 1};
    for (int k = 0; k < 3; ++k) switching.step(objective, x);
    EXPECT_FALSE(switching.switched());
    EXPECT_EQ(switching.step(objective, x).status, Status::running);
    EXPECT_TRUE(switching.switched());
  }
  {
    auto options = LbfgsOptions{};
    options.tolerance_gradient = 1e3;  // satisfied at once
    Switching switching(std::make_unique<Lbfgs>(objective.layout(), options),
                        std::make_unique<Lbfgs>(objective.layout(), LbfgsOptions{}), {});
    EXPECT_LT(run_steps(switching, objective, {-1.2, 1}, 60), 1e-15);
  }
}

TEST(Wrappers, ContinueWithTheSameBitsAfterSaveAndRestore) {
  NetworkFit objective;
  const auto& layout = objective.layout();
  const auto descent = [&] { return std::make_unique<Descent>(layout, 0.05); };
  const std::vector<std::pair<std::string, std::function<std::unique_ptr<Optimizer>()>>> makers = {
      {"scheduled",
       [&] {
         return std::make_unique<Scheduled>(
             descent(), ScheduleOptions{.warmup_steps = 4, .decay = Decay::cosine, .total_steps = 20});
       }},
      {"clipped",
       [&] {
         return std::make_unique<Clipped>(descent(), ClipOptions{Clip::norm, 0.1});
       }},
      {"schedule-free", [&] { return std::make_unique<ScheduleFree>(descent(), ScheduleFreeOptions{}); }},
      {"switching",
       [&] {
         return std::make_unique<Switching>(descent(), std::make_unique<Lbfgs>(layout, LbfgsOptions{}),
                                            SwitchOptions{.at_step = 5});
       }},
      {"composed", [&] {
         return make_composed(layout, optimizer_spec({{"name", "lbfgs"},
                                                      {"history", 3},
                                                      {"then", {{"name", "ss-broyden"}, {"at_step", 4}}}}));
       }}};
  for (const auto& [name, make] : makers)
    for (const int saved_after : {0, 3, 8}) {
      const auto original = make(), restored = make();
      auto x = normal_point(objective.size(), 7, 0.5);
      for (int k = 0; k < saved_after; ++k) original->step(objective, x);
      StateWriter writer;
      original->state(writer);
      StateReader reader(writer.bytes());
      restored->state(reader);
      EXPECT_TRUE(reader.at_end()) << name;
      auto y = x;
      for (int k = 0; k < 10; ++k) {
        original->step(objective, x);
        restored->step(objective, y);
        ASSERT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(double)), 0)
            << name << " saved after " << saved_after;
      }
    }
}

std::string complaint(const Json& settings) {
  try {
    optimizer_spec(settings);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OptimizerSpec, NamesWhatIsWrongInItsSettings) {
  const std::vector<std::pair<Json, std::string>> slips = {
      {Json::object(), "expected a name"},
      {{{"name", "lbgfs"}}, "did you mean 'lbfgs'?"},
      {{{"name", "lbfgs"}, {"histry", 3}}, "did you mean 'history'?"},
      {{{"name", "lbfgs"}, {"schedul", {{"rate", 1}}}}, "did you mean 'schedule'?"},
      {{{"name", "lbfgs"}, {"schedule", {{"rat", 1}}}}, "did you mean 'rate'?"},
      {{{"name", "lbfgs"}, {"schedule", 3}}, "optimizer.schedule: expected a table"},
      {{{"name", "lbfgs"}, {"schedule", {{"boundaries", {1}}}}}, "1 boundaries but 0 factors"},
      {{{"name", "lbfgs"}, {"then", {{"name", "bfgs"}, {"at_stp", 3}}}}, "did you mean 'at_step'?"},
      {{{"name", "lbfgs"}, {"then", {{"at_step", 3}}}}, "the name of a second optimizer"},
      {{{"name", "lbfgs"}, {"then", {{"name", "bgfs"}}}}, "did you mean 'bfgs'?"}};
  for (const auto& [settings, expected] : slips) {
    const std::string said = complaint(settings);
    EXPECT_NE(said.find(expected), std::string::npos) << settings << ": " << said;
  }
}

TEST(OptimizerSpec, ComesBackFromJsonAsItWas) {
  const OptimizerSpec spec = optimizer_spec({{"name", "adam"},
                                             {"learning_rate", 0.5},
                                             {"clip", {{"limit", 2}}},
                                             {"schedule", {{"decay", "cosine"}, {"total_steps", 7}}},
                                             {"then", {{"name", "lbfgs"}, {"at_step", 3}, {"history", 5}}}});
  EXPECT_EQ(spec.options.as<AdamOptions>().learning_rate, 0.5);
  EXPECT_EQ(spec.wrappers.then->when.at_step, 3);
  EXPECT_EQ(spec.wrappers.then->optimizer->options.as<LbfgsOptions>().history, 5);
  const Json saved = options::to_json(spec);
  EXPECT_EQ(options::to_json(optimizer_spec(saved)), saved);
  EXPECT_EQ(saved["then"]["history"], 5);
}

TEST(OptimizerSpec, RefusesASecondOptimizerThatWouldNeverBegin) {
  EXPECT_NE(complaint({{"name", "adam"}, {"then", {{"name", "lbfgs"}}}}).find("at_step"), std::string::npos);
  EXPECT_EQ(complaint({{"name", "adam"}, {"then", {{"name", "lbfgs"}, {"plateau_steps", 9}}}}), "");
  EXPECT_EQ(complaint({{"name", "lbfgs"}, {"then", {{"name", "bfgs"}}}}), "");  // lbfgs ends when it stalls
}

TEST(Composed, TakesAllWrappersTogether) {
  NetworkFit objective;
  const auto composed =
      make_composed(objective.layout(), optimizer_spec({{"name", "sgd"},
                                                        {"schedule", {{"decay", "cosine"}}},
                                                        {"clip", {{"limit", 1}}},
                                                        {"schedule_free", Json::object()}}));
  auto x = normal_point(objective.size(), 7, 0.5);
  const double before = objective.value(x);
  for (int k = 0; k < 50; ++k) composed->step(objective, x);
  EXPECT_LT(objective.value(x), before);
}

}  // namespace
}  // namespace lather::optim
