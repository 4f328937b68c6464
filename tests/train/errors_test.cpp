// Errors against numbers worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numbers>
#include <numeric>
#include <thread>

#include "heat_training.hpp"
#include "lather/core/error.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/accuracy/known_values.hpp"

namespace lather::train {
namespace {

using pde::PinnObjective;
using pde::Points;
using pde::Problem;

// On [0, 1] with three grid points: u* = x, that is 0, 1/2, 1, and slope 1.
Problem line() {
  pde::ProblemBuilder b("line");
  b.coordinate("x", 0, 1);
  b.unknown("mu", 0.5, 0.7);
  b.unknown("free", 3);
  b.field("u");
  b.field("p");
  b.equation("e", b.parse("u_x - mu + free*p"));
  b.exact("u", b.parse("x"));
  b.exact("p", b.parse("0*x"));
  b.problem().network.width = 4;
  return b.build();
}

FieldValues both(std::vector<double> values, std::vector<double> slopes) {
  return {{values, slopes}, {values, slopes}};
}

TEST(Errors, AreTheirDefinitions) {
  const Problem problem = line();
  const ErrorMeter meter(problem, *closed_form(problem), {.grid = 3, .up_to_constant = {}});
  ASSERT_EQ(meter.grid().coordinates[0], (std::vector<double>{0, 0.5, 1}));
  const auto errors = meter.measure([](const Points&) { return both({0.3, 0.5, 0.6}, {1, 1, 3}); });
  EXPECT_EQ(errors[0].field, "u");
  EXPECT_NEAR(errors[0].relative_l2, std::sqrt((0.09 + 0.16) / 1.25), 1e-15);
  EXPECT_NEAR(errors[0].relative_h1, std::sqrt((0.25 + 4) / (1.25 + 3)), 1e-15);
  EXPECT_NEAR(errors[0].maximum, 0.4, 1e-15);
  // The true p vanishes: root mean square.
  EXPECT_NEAR(errors[1].relative_l2, std::sqrt((0.09 + 0.25 + 0.36) / 3), 1e-15);
}

TEST(Errors, CanIgnoreAConstant) {
  const Problem problem = line();
  const ErrorMeter meter(problem, *closed_form(problem), {.grid = 3, .up_to_constant = {"u"}});
  const auto errors = meter.measure([](const Points&) { return both({7, 7.5, 8}, {1, 1, 1}); });
  EXPECT_NEAR(errors[0].relative_l2, 0, 1e-15);
  EXPECT_NEAR(errors[0].maximum, 0, 1e-15);
  EXPECT_NEAR(errors[1].maximum, 8, 1e-15);
  EXPECT_THROW(ErrorMeter(problem, *closed_form(problem), {.grid = 3, .up_to_constant = {"q"}}), Error);
}

// A grid in eight dimensions would be all boundary: points inside are used, spread evenly in each coordinate.
TEST(Errors, InManyDimensionsAreTakenAtPointsInside) {
  pde::ProblemBuilder b("cube");
  for (int k = 1; k <= 8; ++k) b.coordinate("x" + std::to_string(k), 0, 2);
  b.field("u");
  b.equation("e", b.parse("u_x1 - 1"));
  b.exact("u", b.parse("x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8"));
  const Problem problem = b.build();
  const auto truth = closed_form(problem);
  const ErrorMeter meter(problem, *truth);
  EXPECT_EQ(meter.grid().count(), kSpreadPoints);
  for (const auto& c : meter.grid().coordinates) {
    EXPECT_GT(*std::min_element(c.begin(), c.end()), 0);
    EXPECT_LT(*std::max_element(c.begin(), c.end()), 2);
    EXPECT_NEAR(std::accumulate(c.begin(), c.end(), 0.0) / static_cast<double>(c.size()), 1, 1e-3);
  }
  const auto errors = meter.measure([&](const Points& points) {
    FieldValues values(1);
    values[0].push_back(truth->evaluate(0, std::vector<int>(8), points));
    for (double& v : values[0][0]) v *= 1.1;
    for (int k = 0; k < 8; ++k) values[0].push_back(std::vector<double>(points.count(), 1.1));
    return values;
  });
  EXPECT_NEAR(errors[0].relative_l2, 0.1, 1e-12);
  EXPECT_NEAR(errors[0].relative_h1, 0.1, 1e-12);
}

TEST(Errors, ShowANaN) {
  const Problem problem = line();
  const ErrorMeter meter(problem, *closed_form(problem), {.grid = 3, .up_to_constant = {}});
  const auto errors = meter.measure([](const Points&) { return both({NAN, 0.5, 1}, {1, 1, 1}); });
  EXPECT_TRUE(std::isnan(errors[0].relative_l2));
  EXPECT_TRUE(std::isnan(errors[0].maximum));
}

TEST(Errors, OfANetworkAgreeWithDifferencesOfItsValues) {
  const Problem problem = test::heat();
  PinnObjective objective(problem, {.threads = 1});
  const auto x = objective.initialize(1);
  const double h = 1e-5;
  Points p;
  p.coordinates = {{0.3 - h, 0.3, 0.3 + h}, {0.4, 0.4, 0.4}};
  const auto values = predict(objective, x, p);
  EXPECT_NEAR((values[0][0][2] - values[0][0][0]) / (2 * h), values[0][1][1], 1e-8);
  const auto truth = closed_form(problem);
  const double pi = std::numbers::pi;
  EXPECT_NEAR(truth->evaluate(0, std::vector{1, 1}, p)[1],
              -0.2 * pi * pi * pi * std::exp(-0.2 * pi * pi * 0.4) * std::cos(pi * 0.3), 1e-13);
}

TEST(Errors, AgainstAReferenceSolutionAreThoseAgainstItsClosedForm) {
  pde::ProblemBuilder b("wave");
  b.coordinate("x", 0, 1);
  b.coordinate("t", 0, 1);
  b.field("u");
  b.equation("wave", b.parse("u_tt - 4*u_xx"));
  b.exact("u", b.parse("sin(pi*x)*cos(2*pi*t) + 0.5*sin(4*pi*x)*cos(8*pi*t)"));
  b.problem().network.width = 4;
  Problem problem = b.build();
  PinnObjective objective(problem, {.threads = 1});
  const auto x = objective.initialize(1);
  const auto exact = ErrorMeter(problem, *true_solution(problem, {}), {.grid = 21, .up_to_constant = {}})
                         .measure(objective, x);
  problem.exact.clear();
  problem.reference.solver = "wave";
  const auto solved = ErrorMeter(problem, *true_solution(problem, {}), {.grid = 21, .up_to_constant = {}})
                          .measure(objective, x);
  EXPECT_NEAR(solved[0].relative_l2 / exact[0].relative_l2, 1, 1e-12);
  EXPECT_NEAR(solved[0].relative_h1 / exact[0].relative_h1, 1, 1e-12);
  problem.domain[1].high = 2;
  EXPECT_THROW(true_solution(problem, {}), Error);
  problem.reference.solver.clear();
  EXPECT_EQ(true_solution(problem, {}), nullptr);
}

TEST(KnownValues, AreComputedOnceForAllWhoAsk) {
  KnownValues values(100);
  std::atomic<int> computed = 0;
  const auto get = [&](const std::string& key, double value) {
    return values.get(key, [&] {
      ++computed;
      return std::vector<double>(40, value);
    });
  };
  std::vector<std::thread> team;
  for (int i = 0; i < 4; ++i) team.emplace_back([&] { EXPECT_EQ(get("a", 1).at(39), 1); });
  for (auto& thread : team) thread.join();
  EXPECT_EQ(computed, 1);
  EXPECT_THROW(values.get("b", []() -> std::vector<double> { throw Error("no"); }), Error);
  EXPECT_EQ(get("b", 2).at(0), 2);
  EXPECT_EQ(get("c", 3).at(0), 3);  // more than 100 numbers: all are forgotten
  EXPECT_EQ(get("a", 4).at(0), 4);
  values.forget();
  EXPECT_EQ(get("a", 5).at(0), 5);
}

// Different parameters, derivatives, fields and points give different values.
TEST(KnownValues, OfReferencesAreThoseOfTheReferenceItself) {
  for (const char* nu : {"0.1", "0.2"}) {
    pde::ProblemBuilder b("burgers");
    b.coordinate("x", -1, 1);
    b.coordinate("t", 0, 1);
    b.field("u");
    b.equation("e", b.parse("u_t + u*u_x - 0.1*u_xx"));
    Problem problem = b.build();
    problem.reference.solver = "burgers";
    set_toml(problem.reference.options, "nu", nu);
    const auto kept = true_solution(problem, "");
    const auto itself =
        from_reference(problem, reference::make_reference("burgers", problem.reference.options, ""));
    for (const std::size_t count : {5, 6})
      for (const std::vector<int>& orders : {std::vector<int>{0, 0}, {1, 0}, {0, 1}}) {
        const Points grid = uniform_grid(problem.domain, count);
        const auto expected = itself->evaluate(0, orders, grid);
        EXPECT_EQ(kept->evaluate(0, orders, grid), expected);
        EXPECT_EQ(kept->evaluate(0, orders, grid), expected);
      }
  }
}

TEST(Residuals, AreThoseOfHeldOutPoints) {
  const Problem problem = test::heat();
  PinnObjective objective(problem, {.threads = 1});
  const auto x = objective.initialize(1);
  pde::PointSource source(
      problem, pde::sampling_settings({.points = {{"interior", 50}}, .sampling = {}, .focus = {}}, problem),
      1);
  source.update(0, objective, x);
  const auto residuals = validation_residuals(objective, x, source);
  ASSERT_EQ(residuals.size(), 3u);
  EXPECT_EQ(residuals[1].term, "initial");
  // The same by putting the held-out points into another objective.
  PinnObjective other(problem, {.threads = 1});
  other.initialize(1);
  for (int s = 0; s < 3; ++s) other.set_points(s, source.validation(s));
  for (int k = 0; k < 3; ++k) {
    std::vector<double> r(other.points(problem.terms[k].point_set).count());
    other.term_residuals(x, k, r);
    double sum = 0, largest = 0;
    for (const double v : r) {
      sum += v * v;
      largest = std::max(largest, std::abs(v));
    }
    EXPECT_NEAR(residuals[k].mean_square, sum / static_cast<double>(r.size()), 1e-13 * sum);
    EXPECT_NEAR(residuals[k].maximum, largest, 1e-13);
  }
}

}  // namespace
}  // namespace lather::train
