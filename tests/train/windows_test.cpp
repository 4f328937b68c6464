// Time windows and continuation, from a problem to a solution.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heat_training.hpp"
#include "lather/core/error.hpp"
#include "lather/symbolic/evaluate.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/config.hpp"
#include "lather/train/stages/continuation.hpp"
#include "lather/train/stages/windows.hpp"

namespace lather::train {
namespace {

using pde::PinnObjective;
using pde::PointSet;
using pde::Problem;
using test::set_named;

pde::SamplingSettings counts(const Problem& p, std::size_t n) {
  pde::SamplingSettings settings;
  settings.counts.assign(p.point_sets.size(), n);
  return settings;
}

TEST(Windows, CutTheTimeAndLeaveEverythingElse) {
  const Problem problem = test::heat();
  const TimeWindows windows(problem, {.count = 4});
  EXPECT_EQ(windows.interval(0).low, 0);
  EXPECT_EQ(windows.interval(2).low, 0.5);
  EXPECT_EQ(windows.interval(3).high, 1);
  const Problem first = windows.first();
  EXPECT_EQ(first.domain[1].high, 0.25);
  EXPECT_EQ(first.domain[0].high, 1);
  EXPECT_EQ(first.terms.size(), 3u);
  EXPECT_EQ(first.point_sets[set_named(first, "initial")].kind, PointSet::Kind::boundary);
  EXPECT_EQ(first.terms[1].residual, problem.terms[1].residual);
}

TEST(Windows, FeedEveryNetworkTheSameRangeOfTimes) {
  const Problem problem = test::heat();
  const TimeWindows windows(problem, {.count = 4});
  const std::vector<std::vector<std::vector<double>>> no_rows(1);
  const Problem third = windows.restored(2, no_rows);
  for (const auto& [window_time, whole_time] : {std::pair{0.5, 0.0}, {0.75, 1.0}, {0.625, 0.5}}) {
    const symbolic::ExprMap<double> now{{problem.symbols->coordinate(0), 0.3},
                                        {problem.symbols->coordinate(1), window_time}};
    const symbolic::ExprMap<double> then{{problem.symbols->coordinate(0), 0.3},
                                         {problem.symbols->coordinate(1), whole_time}};
    for (std::size_t i = 0; i < problem.network_inputs.size(); ++i)
      EXPECT_NEAR(symbolic::evaluate(third.network_inputs[i], now),
                  symbolic::evaluate(problem.network_inputs[i], then), 1e-14);
  }
}

TEST(Windows, LeaveInputsThatCombineTheTimeWithOtherCoordinates) {
  Problem problem = test::heat();
  const auto x = problem.symbols->coordinate(0), t = problem.symbols->coordinate(1);
  problem.network_inputs = {2 * t - 1, x - 3 * t};
  const TimeWindows windows(problem, {.count = 4});
  const Problem third = windows.restored(2, {{}});
  const symbolic::ExprMap<double> at{{x, 0.3}, {t, 0.5}};
  EXPECT_NEAR(symbolic::evaluate(third.network_inputs[0], at), -1, 1e-14);
  EXPECT_EQ(third.network_inputs[1], problem.network_inputs[1]);
}

TEST(Windows, HandOverInTheBoxesOfTheCondition) {
  const Problem problem = test::heat();
  const TimeWindows windows(problem, {.count = 2});
  PinnObjective before(windows.first(), {.threads = 1});
  pde::PointOptions options;
  options.points["initial"] = 100;
  pde::FocusOptions end;
  end.share = 0.6;
  end.points = "initial";
  end.intervals["x"] = {0.9, 1};
  end.method = pde::SamplingMethod::grid;
  options.focus.push_back(end);
  const Problem second =
      windows.next(1, before, before.initialize(1), pde::sampling_settings(options, problem), 1);
  const auto& rows = second.point_sets[set_named(second, "initial")].rows;
  ASSERT_EQ(rows.size(), 100u);
  int in_box = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(row[1], 0.5);
    in_box += row[0] > 0.9;
  }
  EXPECT_NEAR(in_box, 64, 2);
  for (int i = 0; i < 60; ++i)
    EXPECT_NEAR(rows[i][0], 0.9 + 0.1 * (i + 0.5) / 60, 1e-14);  // by the box's own method
}

TEST(Windows, HandOverTheStateOfTheLastNetwork) {
  // Second order in time: u and u_t are handed over.
  pde::ProblemBuilder b("wave");
  b.coordinate("x", 0, 1);
  b.coordinate("t", 0, 1);
  b.field("u");
  b.equation("wave", b.parse("u_tt - u_xx"));
  b.condition("initial", {b.face({{"t", 0}})}, {b.parse("u - sin(pi*x)"), b.parse("u_t")});
  b.problem().network.width = 6;
  const Problem problem = b.build();
  const TimeWindows windows(problem, {.count = 2});
  PinnObjective before(windows.first(), {.threads = 1});
  const auto x = before.initialize(4);
  const Problem second = windows.next(1, before, x, counts(problem, 20), 1);

  const int set = set_named(second, "initial");
  ASSERT_EQ(second.point_sets[set].kind, PointSet::Kind::data);
  ASSERT_EQ(second.point_sets[set].rows.size(), 20u);
  for (const auto& row : second.point_sets[set].rows) EXPECT_EQ(row[1], 0.5);

  // A second network with different weights: its residual is the difference of the two, in u and in u_t.
  PinnObjective after(second, {.threads = 1});
  const auto y = after.initialize(5);
  after.set_points(set, pde::data_points(second, set));
  const auto u = problem.fields[0].value;
  const std::vector<symbolic::Expr> state{u, problem.symbols->total_derivative(u, 1)};
  const auto mine = after.evaluate(y, state, pde::Points{after.points(set).coordinates, {}});
  const auto last = before.evaluate(x, state, pde::Points{after.points(set).coordinates, {}});
  std::vector<double> r(20);
  for (int k = 0; k < 2; ++k) {
    after.term_residuals(y, 1 + k, r);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(r[i], mine[k][i] - last[k][i], 1e-13);
  }
}

TEST(Windows, PutDataAndLaterConditionsIntoTheirWindow) {
  pde::ProblemBuilder b("data");
  b.coordinate("x", 0, 1);
  b.coordinate("t", 0, 1);
  const auto u = b.field("u");
  b.equation("transport", b.parse("u_t + u_x"));
  b.condition("initial", {b.face({{"t", 0}})}, u);
  b.condition("final", {b.face({{"t", 1}})}, u);
  b.begin_data({"value"});
  b.data("observed", {"value"}, {{0.1, 0.2, 1}, {0.1, 0.5, 2}, {0.1, 1.0, 3}}, {b.parse("u - value")});
  b.problem().network.width = 4;
  const Problem problem = b.build();
  const TimeWindows windows(problem, {.count = 2});
  const Problem first = windows.first();
  EXPECT_EQ(set_named(first, "final"), -1);
  EXPECT_EQ(first.terms.size(), 3u);
  EXPECT_EQ(first.point_sets[set_named(first, "observed")].rows.size(), 1u);
  const Problem second = windows.restored(1, {{}});
  EXPECT_GE(set_named(second, "final"), 0);
  EXPECT_EQ(second.point_sets[set_named(second, "observed")].rows.size(), 2u);
  for (const auto& term : second.terms) EXPECT_LT(term.point_set, static_cast<int>(second.point_sets.size()));
}

TEST(Windows, SayWhatTheyCannotDo) {
  EXPECT_THROW(TimeWindows(test::heat(), {.count = 2, .coordinate = "time"}), Error);
  pde::ProblemBuilder b("hard");
  b.coordinate("x", 0, 1);
  b.coordinate("t", 0, 1);
  b.output("N");
  b.field("u", b.parse("t*N"));
  b.equation("e", b.parse("u_t"));
  const Problem problem = b.build();
  EXPECT_THROW(TimeWindows(problem, {.count = 2}), Error);
  EXPECT_NO_THROW(TimeWindows(problem, {.count = 1}));
}

TEST(Windows, ReadTheirOptionsFromARecipe) {
  EXPECT_EQ(test::training({{"time_windows", 5}}).time_windows.count, 5);
  EXPECT_FALSE(
      test::training({{"time_windows", {{"count", 3}, {"warm_start", false}}}}).time_windows.warm_start);
  EXPECT_EQ(test::training(nlohmann::json::object()).time_windows.count, 1);
  EXPECT_THROW(test::training({{"time_windows", 0}}), Error);
  EXPECT_THROW(test::training({{"time_windows", {{"cout", 3}}}}), Error);
}

TEST(Windows, SolveTheHeatEquationInTwoParts) {
  const Problem problem = test::heat();
  const auto truth = closed_form(problem);
  const TimeWindows windows(problem, {.count = 2});
  const nlohmann::json recipe{{"points", {{"interior", 128}, {"walls", 32}}}};
  std::unique_ptr<PinnObjective> objective;
  std::vector<double> x;
  for (int i = 0; i < windows.count(); ++i) {
    const Problem part = i == 0 ? windows.first() : windows.next(i, *objective, x, counts(problem, 32), 1);
    objective = std::make_unique<PinnObjective>(part, pde::EngineOptions{.threads = 1});
    auto fresh = objective->initialize(1);
    if (i == 0 || !windows.options().warm_start) x = fresh;
    test::train(*objective, x, recipe, 2000);
    const ErrorMeter meter(part, *truth, {.grid = 33, .up_to_constant = {}});
    // Measured: 6e-3 and 1.0e-2; before training 1.0 and 1.7.
    EXPECT_LT(meter.measure(*objective, x)[0].relative_l2, 0.05) << "window " << i;
  }
}

ContinuationOptions continuation_of(const nlohmann::json& options) {
  const auto read = *test::training({{"continuation", options}}).continuation;
  read.validate();
  return read;
}

TEST(Continuation, ReadsItsOptions) {
  const auto options = continuation_of({{"parameter", "Re"}, {"values", {100, 400, 1000}}});
  const auto build = [](double) { return test::heat(); };
  EXPECT_EQ(Continuation(options, build).share(0), Continuation(options, build).share(2));
  const auto given = continuation_of({{"parameter", "Re"}, {"values", {1, 2}}, {"steps", {1000, 3000}}});
  EXPECT_EQ(Continuation(given, build).share(1), 3000);
  EXPECT_FALSE(test::training(nlohmann::json::object()).continuation);
  EXPECT_THROW(continuation_of({{"parameter", "Re"}}), Error);
  EXPECT_THROW(continuation_of({{"parameter", "Re"}, {"values", {1, 2}}, {"steps", {3}}}), Error);
}

TEST(Continuation, FollowsASolutionToAHarderParameterWithTheSameWeights) {
  ProblemSource source;
  source.file = "layer.toml";
  source.overrides = {{"network.width", "10"}};
  source.text = R"TOML(
name = "layer"
coordinates = ["x"]
fields = ["u"]
[domain]
x = [0, 1]
[parameters]
eps = 1
[[equation]]
name = "layer"
residual = "eps*u_xx + u_x"
[[condition]]
name = "left"
where = "x = 0"
residual = "u"
weight = 10
[[condition]]
name = "right"
where = "x = 1"
residual = "u - 1"
weight = 10
[network]
width = 8
depth = 2
[reference]
u = "(1 - exp(-x/eps))/(1 - exp(-1/eps))"
)TOML";
  const auto options = continuation_of({{"parameter", "eps"}, {"values", {1, 0.4, 0.2}}});
  const Continuation continuation(
      options, [&](double value) { return source.read({parameter_override("eps", value)}); });
  std::vector<double> x;
  std::vector<double> errors;
  for (int stage = 0; stage < continuation.count(); ++stage) {
    const Problem problem = continuation.problem(stage);
    EXPECT_EQ(problem.network.width, 10);
    PinnObjective objective(problem, {.threads = 1});
    const auto fresh = objective.initialize(1);
    if (stage == 0) x = fresh;
    ASSERT_EQ(x.size(), objective.layout().size());
    test::train(objective, x, {{"points", {{"interior", 64}}}}, 800);
    errors.push_back(ErrorMeter(problem, *closed_form(problem), {.grid = 101, .up_to_constant = {}})
                         .measure(objective, x)[0]
                         .relative_l2);
  }
  EXPECT_LT(errors.back(), 4e-3);  // Measured: 9e-4; the first solution is off by 0.30 for the last parameter
}

}  // namespace
}  // namespace lather::train
