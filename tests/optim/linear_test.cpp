#include "lather/optim/least_squares/output_layer/linear.hpp"

#include <gtest/gtest.h>

#include "lather/core/error.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "residual_problems.hpp"

namespace lather::optim {
namespace {

constexpr std::size_t kFeatures = 24, kPointsOnTheLine = 60;

ParameterLayout one_hidden_layer() {
  ParameterLayout layout;
  layout.add_matrix("layer1.weight", 1, kFeatures, Role::input);
  layout.add_vector("layer1.bias", kFeatures);
  layout.add_matrix("output.weight", kFeatures, 1, Role::output);
  layout.add_vector("output.bias", 1);
  return layout;
}

// u(t) = sum_j w_j tanh(a_j t + b_j) + c against sin 3t at points in [-1, 1]; u^power on the left.
residual_problems::ResidualFunction fit_a_sine(int power = 1) {
  return {one_hidden_layer(), kPointsOnTheLine,
          [power](std::span<const double> x, std::span<double> r, double* J) {
            const double *a = x.data(), *b = a + kFeatures, *w = b + kFeatures, c = w[kFeatures];
            for (std::size_t p = 0; p < kPointsOnTheLine; ++p) {
              const double t = 2.0 * static_cast<double>(p) / (kPointsOnTheLine - 1) - 1;
              double u = c;
              for (std::size_t j = 0; j < kFeatures; ++j) u += w[j] * std::tanh(a[j] * t + b[j]);
              const double outer = power == 1 ? 1 : power * std::pow(u, power - 1);
              double* row = J + p * x.size();
              for (std::size_t j = 0; j < kFeatures; ++j) {
                const double f = std::tanh(a[j] * t + b[j]);
                row[j] = outer * w[j] * (1 - f * f) * t;
                row[kFeatures + j] = outer * w[j] * (1 - f * f);
                row[2 * kFeatures + j] = outer * f;
              }
              row[3 * kFeatures] = outer;
              r[p] = std::pow(u, power) - std::sin(3 * t);
            }
          }};
}

TEST(LinearOptimizer, SolvesTheOutputLayerInOneStepAndSaysSo) {
  auto problem = fit_a_sine();
  Linear linear(problem.layout(), {});
  std::vector<double> x(problem.size(), 0.1);
  EXPECT_EQ(linear.step(problem, x).status, Status::running);
  EXPECT_LT(std::sqrt(problem.value(x)), 1e-7);
  const auto before = x;
  const auto second = linear.step(problem, x);
  EXPECT_EQ(second.status, Status::converged);
  EXPECT_NE(second.message.find("output layer is solved"), std::string::npos);
  EXPECT_EQ(x, before);
}

TEST(LinearOptimizer, KeepsTheScaleWithTheLeastHeldOutResiduals) {
  // Features of scale 1e-6 are straight lines, and no combination of them is a sine.
  auto problem = fit_a_sine();
  Linear linear(problem.layout(), {.smallest_scale = 1e-6, .largest_scale = 3, .scales = 2});
  std::vector<double> x(problem.size());
  linear.step(problem, x);
  ASSERT_EQ(linear.diagnostics().size(), 1u);
  EXPECT_NEAR(linear.diagnostics()[0].value, 3, 1e-12);
}

TEST(LinearOptimizer, SaysWhereItsFeaturesDoNotFit) {
  auto problem = fit_a_sine();
  Linear good(problem.layout(), {}),
      straight(problem.layout(), {.smallest_scale = 1e-6, .largest_scale = 1e-6, .scales = 1});
  std::vector<double> x(problem.size(), 0.1), y = x;
  EXPECT_EQ(good.step(problem, x).message.find("trains all layers"), std::string::npos);
  EXPECT_NE(straight.step(problem, y).message.find("trains all layers"), std::string::npos);
}

TEST(LinearOptimizer, RefusesWhatIsNotLinear) {
  auto cubic = fit_a_sine(3);
  Linear linear(cubic.layout(), {});
  std::vector<double> x(cubic.size(), 0.1);
  try {
    linear.step(cubic, x);
    FAIL() << "was accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("linear in the fields"), std::string::npos) << e.what();
  }
  auto with_unknown = one_hidden_layer();
  with_unknown.add_scalar("unknown.nu");
  EXPECT_THROW(Linear(with_unknown, {}), Error);
  ParameterLayout headless;
  headless.add_matrix("W", 2, 2);
  EXPECT_THROW(Linear(headless, {}), Error);
}

TEST(LinearOptimizer, RemembersItsScale) {
  auto problem = fit_a_sine();
  Linear original(problem.layout(), {}), restored(problem.layout(), {});
  std::vector<double> x(problem.size(), 0.1);
  original.step(problem, x);
  StateWriter writer;
  original.state(writer);
  StateReader reader(writer.bytes());
  restored.state(reader);
  EXPECT_TRUE(reader.at_end());
  auto y = x;
  original.objective_changed();
  restored.objective_changed();
  original.step(problem, x);
  restored.step(problem, y);
  EXPECT_EQ(x, y);
}

}  // namespace
}  // namespace lather::optim
