#include "lather/optim/least_squares/output_layer/gauss_newton.hpp"

#include <gtest/gtest.h>

#include "residual_problems.hpp"

namespace lather::optim {
namespace {

using namespace residual_problems;

TEST(GaussNewton, SolvesALinearProblemInOneStepAndThenHasConverged) {
  auto problem = linear(40, 12, 0, 0.1);
  GaussNewton optimizer(problem.layout(), {});
  std::vector<double> x(12);
  EXPECT_EQ(optimizer.step(problem, x).status, Status::running);
  std::vector<double> gradient(12);
  problem.value_and_gradient(x, gradient);
  for (const double g : gradient) EXPECT_NEAR(g, 0, 1e-11);
  const double value = problem.value(x);
  const auto second = optimizer.step(problem, x);
  EXPECT_EQ(second.status, Status::converged);
  EXPECT_NE(second.message.find("has converged"), std::string::npos) << second.message;
  EXPECT_LE(problem.value(x), value);
}

// r = atan x: the full step from x = 5 goes far beyond the root.
TEST(GaussNewton, ShortensAStepThatWouldRaiseTheValue) {
  ResidualFunction problem(1, 1, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = std::atan(x[0]);
    J[0] = 1 / (1 + x[0] * x[0]);
  });
  GaussNewton optimizer(problem.layout(), {});
  std::vector<double> x{5.0};
  double value = problem.value(x), shortest = 1;
  for (int t = 0; t < 30; ++t) {
    const auto report = optimizer.step(problem, x);
    if (report.status != Status::running) break;
    EXPECT_LT(problem.value(x), value);
    value = problem.value(x);
    for (const auto& d : optimizer.diagnostics())
      if (d.quantity == "length") shortest = std::min(shortest, d.value);
  }
  EXPECT_LT(shortest, 1);
  EXPECT_NEAR(x[0], 0, 1e-12);
}

// Columns equal to 1e-13: parameters of size 1 bring the value down to 1e-6, those of size 1e10 to zero. Of
// these the first cutoff, 1e-10, lets 1e-13 * 1e-3 / (2 * 1e-20) = 5000 pass.
TEST(GaussNewton, TakesEnormousParametersOnlyWhereNothingElseIsLeft) {
  ResidualFunction problem(2, 2, [](std::span<const double> x, std::span<double> r, double* J) {
    const double a[] = {1, 1, 0, 1e-13};
    std::copy_n(a, 4, J);
    r[0] = x[0] + x[1] - 1;
    r[1] = 1e-13 * x[1] - 1e-3;
  });
  GaussNewton optimizer(problem.layout(), {});
  std::vector<double> x(2);
  EXPECT_EQ(optimizer.step(problem, x).status, Status::running);
  EXPECT_LT(std::abs(x[1]), 1e4);
  EXPECT_NEAR(problem.value(x), 1e-6, 1e-7);
  EXPECT_EQ(optimizer.step(problem, x).status, Status::running);
  EXPECT_NEAR(x[1], 1e10, 1e8);
  EXPECT_LT(problem.value(x), 1e-9);
}

// Only the sum of the parameters matters to more than 1e-13. What an earlier problem left in their difference
// vanishes.
TEST(GaussNewton, BringsBackParametersThatResidualsHardlySee) {
  ResidualFunction problem(2, 2, [](std::span<const double> x, std::span<double> r, double* J) {
    const double a[] = {1, 1, 0, 1e-13};
    std::copy_n(a, 4, J);
    r[0] = x[0] + x[1] - 1;
    r[1] = 1e-13 * x[1];
  });
  GaussNewton optimizer(problem.layout(), {});
  std::vector<double> x{1e6, -1e6};
  optimizer.step(problem, x);
  EXPECT_NEAR(x[0] + x[1], 1, 1e-8);  // 1e6 cancel
  EXPECT_LT(std::abs(x[0]), 10);
}

// Products with J that are off by 1e-9, as with rounding when parameters are enormous: with the smallest
// cutoff a step asks for a parameter of 1e10 and is worse than none, with a larger one it pays.
TEST(GaussNewton, TriesLargerCutoffsWhereTheLeastIsLostInRounding) {
  struct Rough final : ResidualFunction {
    using ResidualFunction::ResidualFunction;
    void jacobian_times(std::span<const double> x, std::span<const double> v,
                        std::span<double> out) override {
      ResidualFunction::jacobian_times(x, v, out);
      out[0] += 1e-9 * v[1];
    }
  };
  Rough problem(2, 2, [](std::span<const double> x, std::span<double> r, double* J) {
    const double a[] = {1, 1, 0, 1e-13};
    std::copy_n(a, 4, J);
    r[0] = x[0] + x[1] - 1;
    r[1] = 1e-13 * x[1] - 1e-3;
  });
  GaussNewton optimizer(problem.layout(), {.cutoff = 1e-16, .first_cutoff = 1e-16});
  std::vector<double> x(2);
  EXPECT_EQ(optimizer.step(problem, x).status, Status::running);
  EXPECT_LT(problem.value(x), 1e-5);
  EXPECT_LT(std::abs(x[1]), 1e9);
  // Nothing that such products can see is left.
  const auto second = optimizer.step(problem, x);
  EXPECT_EQ(second.status, Status::converged);
  EXPECT_NE(second.message.find("rounding floor"), std::string::npos) << second.message;
}

// Sums in a different order from J's: a step gains less than they differ by.
TEST(GaussNewton, JudgesStepsNearZeroByCompensatedSums) {
  struct Rounded final : ResidualFunction {
    using ResidualFunction::ResidualFunction;
    double value(std::span<const double> x) override { return ResidualFunction::value(x) * (1 + 1e-11); }
  };
  Rounded problem(1, 2, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = 1e-11;
    r[1] = J[1] = 1e-17;
    r[1] *= x[0] - 1;
  });
  GaussNewton optimizer(problem.layout(), {.tolerance = 1e-14});
  std::vector<double> x{0.0};
  EXPECT_EQ(optimizer.step(problem, x).status, Status::running);
  EXPECT_NEAR(x[0], 1, 1e-6);
}

TEST(GaussNewton, EndsWhereNoStepLowersTheValue) {
  // The Jacobian has the wrong sign: every step goes up.
  ResidualFunction problem(1, 1, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = x[0];
    J[0] = -1;
  });
  GaussNewton optimizer(problem.layout(), {});
  std::vector<double> x{1.0};
  const auto report = optimizer.step(problem, x);
  EXPECT_EQ(report.status, Status::stalled);
  EXPECT_NE(report.message.find("far above rounding; more halvings"), std::string::npos) << report.message;
  EXPECT_EQ(x, std::vector<double>{1.0});
}

}  // namespace
}  // namespace lather::optim
