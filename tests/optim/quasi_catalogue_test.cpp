// Every optimizer of the catalogue on every classic problem, on broken objectives, and through save and
// restore.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>

#include "from_json.hpp"
#include "quasi_support.hpp"

namespace lather::optim {
namespace {

using namespace testing;
using Json = nlohmann::json;

// Methods that need residuals have their own tests: these objectives are plain functions.
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& e : catalogue())
    if (!e.needs_residuals) names.push_back(e.name);
  return names;
}
std::string test_name(std::string name) {
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

// Cases in which an optimizer is not expected to reach its target, with the reason.
const std::map<std::pair<std::string, std::string>, std::string>& excused() {
  static const std::map<std::pair<std::string, std::string>, std::string> table = {};
  return table;
}

class OptimizerOnProblem : public ::testing::TestWithParam<std::tuple<std::string, std::size_t>> {};

TEST_P(OptimizerOnProblem, ReachesItsTarget) {
  const auto& entry = find_optimizer(std::get<0>(GetParam()));
  const Trial trial = trials()[std::get<1>(GetParam())];
  if (const auto reason = excused().find({entry.name, trial.name}); reason != excused().end())
    GTEST_SKIP() << reason->second;
  EXPECT_LE(best_part_left(entry, trial),
            uses_line_search(entry) ? trial.left_line_search : trial.left_first_order);
}
INSTANTIATE_TEST_SUITE_P(Catalogue, OptimizerOnProblem,
                         ::testing::Combine(::testing::ValuesIn(all_names()),
                                            ::testing::Range<std::size_t>(0, trials().size())),
                         [](const auto& info) {
                           return test_name(std::get<0>(info.param)) + "_on_" +
                                  trials()[std::get<1>(info.param)].name;
                         });

// Gradient descent with a sign error.
class Ascent final : public Optimizer {
 public:
  using Optimizer::Optimizer;
  StepReport take_step(Objective& objective, std::span<double> x) override {
    std::vector<double> g(x.size());
    StepReport report;
    report.loss = objective.value_and_gradient(x, g);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += 1e-3 * g[i];
    return report;
  }
  void set_learning_rate_factor(double) override {}
  void state(StateVisitor&) override {}
};

TEST(OptimizerMatrix, RejectsAnOptimizerWithASignError) {
  for (const auto& trial : trials())
    EXPECT_GT(
        part_left([](const ParameterLayout& layout) { return std::make_unique<Ascent>(layout); }, trial, 200),
        trial.left_first_order)
        << trial.name;
}

// NetworkFit with something broken in it.
class Broken final : public Objective {
 public:
  double value_factor = 1, gradient_factor = 1;
  const ParameterLayout& layout() const override { return inner_.layout(); }
  double value(std::span<const double> x) override { return value_factor * inner_.value(x); }
  double value_and_gradient(std::span<const double> x, std::span<double> g) override {
    const double f = inner_.value_and_gradient(x, g);
    for (double& entry : g) entry *= gradient_factor;
    return value_factor * f;
  }

 private:
  NetworkFit inner_;
};

class WholeCatalogue : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Optimizer> make(const ParameterLayout& layout) const {
    return make_from_json(GetParam(), layout, Json::object());
  }
};
INSTANTIATE_TEST_SUITE_P(Catalogue, WholeCatalogue, ::testing::ValuesIn(all_names()),
                         [](const auto& info) { return test_name(info.param); });

TEST_P(WholeCatalogue, LeavesTheParametersAloneAndSaysSoWhenLossOrGradientIsNotFinite) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const bool after_some_steps : {false, true})
    for (const auto& [value_factor, gradient_factor] :
         {std::pair{nan, nan}, {inf, 1.0}, {1.0, nan}, {1.0, inf}}) {
      Broken objective;
      const auto optimizer = make(objective.layout());
      auto x = normal_point(objective.size(), 5, 0.5);
      if (after_some_steps)
        for (int k = 0; k < 3; ++k) optimizer->step(objective, x);
      optimizer->objective_changed();
      objective.value_factor = value_factor;
      objective.gradient_factor = gradient_factor;
      const auto before = x;
      const auto report = optimizer->step(objective, x);
      EXPECT_EQ(report.status, Status::non_finite);
      EXPECT_FALSE(report.message.empty());
      EXPECT_EQ(x, before);
      // It goes on once the objective is sound again.
      objective.value_factor = objective.gradient_factor = 1;
      optimizer->objective_changed();
      for (int k = 0; k < 3; ++k) optimizer->step(objective, x);
      for (const double value : x) ASSERT_TRUE(std::isfinite(value));
      EXPECT_NE(x, before);
    }
}

TEST_P(WholeCatalogue, StandsStillAndSaysWhyWhereTheGradientIsZero) {
  DiagonalQuadratic objective({1, 2, 3});
  const auto optimizer = make(objective.layout());
  std::vector<double> x(3, 0.0);
  for (int k = 0; k < 3; ++k) {
    const auto report = optimizer->step(objective, x);
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_FALSE(report.message.empty());
    EXPECT_EQ(x, std::vector<double>(3, 0.0));
  }
}

TEST_P(WholeCatalogue, WorksInDimensionOne) {
  DiagonalQuadratic objective({3});
  const auto optimizer = make(objective.layout());
  std::vector<double> x{2};
  const double start = objective.value(x);
  for (int k = 0; k < 20; ++k) {
    const auto report = optimizer->step(objective, x);
    ASSERT_TRUE(std::isfinite(x[0]));
    if (report.status != Status::running) {
      EXPECT_FALSE(report.message.empty());
      break;
    }
  }
  EXPECT_LT(objective.value(x), start);
}

TEST_P(WholeCatalogue, WithALineSearchStallsInWordsWhenTheGradientPointsTheWrongWay) {
  if (!uses_line_search(find_optimizer(GetParam()))) GTEST_SKIP() << "first-order methods cannot notice";
  Broken objective;
  objective.gradient_factor = -1;
  const auto optimizer = make(objective.layout());
  auto x = normal_point(objective.size(), 5, 0.5);
  const auto before = x;
  const auto report = optimizer->step(objective, x);
  EXPECT_EQ(report.status, Status::stalled);
  EXPECT_FALSE(report.message.empty());
  EXPECT_EQ(x, before);
}

TEST_P(WholeCatalogue, ContinuesWithTheSameBitsAfterSaveAndRestore) {
  for (const int saved_after : {0, 1, 4, 11}) {
    NetworkFit objective;
    const auto original = make(objective.layout());
    auto x = normal_point(objective.size(), 7, 0.5);
    for (int k = 0; k < saved_after; ++k) original->step(objective, x);
    StateWriter writer;
    original->state(writer);
    const auto restored = make(objective.layout());
    StateReader reader(writer.bytes());
    restored->state(reader);
    EXPECT_TRUE(reader.at_end());
    auto x_restored = x;
    for (int k = 0; k < 12; ++k) {
      const auto a = original->step(objective, x), b = restored->step(objective, x_restored);
      ASSERT_EQ(std::memcmp(x.data(), x_restored.data(), x.size() * sizeof(double)), 0)
          << "saved after " << saved_after << ", step " << k;
      EXPECT_EQ(a.loss, b.loss);
      EXPECT_EQ(a.evaluations, b.evaluations);
    }
  }
}

TEST_P(WholeCatalogue, RejectsAnUnknownOption) {
  DiagonalQuadratic objective({1});
  EXPECT_ANY_THROW(make_from_json(GetParam(), objective.layout(), Json{{"no_such_option", 1}}));
}

}  // namespace
}  // namespace lather::optim
