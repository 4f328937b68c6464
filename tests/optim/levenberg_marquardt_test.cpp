#include "lather/optim/least_squares/levenberg_marquardt.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "ill_conditioned.hpp"
#include "lather/core/error.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "levenberg_marquardt_runs.hpp"
#include "residual_problems.hpp"

namespace lather::optim {
namespace {

using namespace residual_problems;
using namespace ill_conditioned;
using namespace levenberg_marquardt_runs;

TEST(LevenbergMarquardt, SolvesTheDampedNormalEquations) {
  // One parameter: r = (2 x - 1, x), J^T J = 5, J^T r = 2 (2 x - 1) + x. From x = 1: d = -3 / (5 + 5 lambda).
  ResidualFunction problem(1, 2, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = 2 * x[0] - 1;
    r[1] = x[0];
    J[0] = 2;
    J[1] = 1;
  });
  const auto result = run(problem, {1}, 1, {.initial_damping = 0.2});
  EXPECT_NEAR(result.x[0], 1 - 3 / (5 + 5 * 0.2), 1e-15);
  EXPECT_EQ(result.last.loss, 2);
  EXPECT_EQ(result.last.gradient_norm, 6);
}

TEST(LevenbergMarquardt, FollowsTheSecondDerivativeAlongItsStep) {
  // r = x + x^2: d = -r / (J (1 + lambda)) and a = -r''(d, d) / (J (1 + lambda)) with r'' = 2. In every
  // form.
  ResidualFunction problem(1, 1, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = x[0] + x[0] * x[0];
    J[0] = 1 + 2 * x[0];
  });
  const double x = 0.5, lambda = 0.2, J = 1 + 2 * x, d = -(x + x * x) / (J * (1 + lambda)),
               a = -2 * d * d / (J * (1 + lambda));
  for (const Form form : {Form::primal, Form::dual, Form::conjugate_gradients, Form::orthogonal}) {
    Options options{.form = form, .initial_damping = lambda};
    EXPECT_NEAR(run(problem, {x}, 1, options).x[0], x + d + a / 2, 1e-12);
    options.acceleration = false;
    EXPECT_NEAR(run(problem, {x}, 1, options).x[0], x + d, 1e-14);
  }
}

TEST(LevenbergMarquardt, TakesTheLongestStepThatStillPaysWithATarget) {
  // r = x + x^2 from x = -0.4, where the undamped step overshoots.
  ResidualFunction problem(1, 1, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = x[0] + x[0] * x[0];
    J[0] = 1 + 2 * x[0];
  });
  const double x = -0.4, r = x + x * x, J = 1 + 2 * x;
  const auto gain_at = [&](double lambda) {
    const double d = -r / (J * (1 + lambda)), after = (x + d) + (x + d) * (x + d);
    return (r * r - after * after) / (d * (lambda * J * J * d - J * r));
  };
  for (const double start : {1e-3, 1e3}) {  // rising and falling
    LevenbergMarquardt lm(problem.layout(), {.adaptation = Options::Adaptation::target,
                                             .acceleration = false,
                                             .target_gain = 0.75,
                                             .initial_damping = start,
                                             .tries = 20});
    std::vector<double> at{x};
    lm.step(problem, at);
    double lambda = 0, gain = 0;
    for (const auto& d : lm.diagnostics()) (d.quantity == "lambda" ? lambda : gain) = d.value;
    EXPECT_NEAR(gain, gain_at(lambda), 1e-9);
    EXPECT_GE(gain, 0.75);
    EXPECT_LT(gain_at(lambda / 3), 0.75);
    EXPECT_NEAR(at[0], x - r / (J * (1 + lambda)), 1e-12);
  }
}

TEST(LevenbergMarquardt, NeedsFewerStepsAlongABentValleyWithAcceleration) {
  const auto steps = [](bool acceleration) {
    auto banana = rosenbrock();
    LevenbergMarquardt lm(banana.layout(), {.acceleration = acceleration});
    std::vector<double> x{-1.2, 1};
    int count = 0;
    while (count < 100 && banana.value(x) > 1e-20) {
      lm.step(banana, x);
      ++count;
    }
    return count;
  };
  EXPECT_LT(steps(true), steps(false));
}

TEST(LevenbergMarquardt, StepsByMarquardtDoNotDependOnTheScaleOfAParameter) {
  const double scale = 1e4;
  auto plain = exponential_fit();
  ResidualFunction scaled(3, 15, [&plain, scale](std::span<const double> x, std::span<double> r, double* J) {
    const std::vector<double> y{x[0], x[1] * scale, x[2]};
    plain.residuals(y, r);
    plain.jacobian_rows(y, 0, 15, J);
    for (int k = 0; k < 15; ++k) J[3 * k + 1] *= scale;
  });
  const Options options{.form = Form::primal, .damping = Damping::marquardt};
  const auto a = run(plain, {1, 1, 0}, 4, options).x, b = run(scaled, {1, 1 / scale, 0}, 4, options).x;
  EXPECT_NEAR(b[1] * scale, a[1], 1e-9);
  EXPECT_NEAR(b[0], a[0], 1e-9);
}

TEST(LevenbergMarquardt, ReachesTheMinimumOfClassicProblems) {
  auto banana = rosenbrock();
  const auto a = run(banana, {-1.2, 1}, 40);
  EXPECT_NEAR(a.x[0], 1, 1e-10);
  EXPECT_NEAR(a.x[1], 1, 1e-10);
  auto fit = exponential_fit();
  const auto b = run(fit, {1, 1, 0}, 40);
  EXPECT_NEAR(b.x[0], 2, 1e-9);
  EXPECT_NEAR(b.x[1], 1.5, 1e-9);
  EXPECT_NEAR(b.x[2], 0.5, 1e-9);
  auto inconsistent = linear(20, 7, 0, 0.1);
  auto c = run(inconsistent, std::vector<double>(7), 60);
  std::vector<double> g(7);
  inconsistent.value_and_gradient(c.x, g);
  // A step is taken if the value goes down, and the value (0.1) is known to 1e-17: |g|^2 / curvature below
  // that is invisible.
  EXPECT_LT(norm(g), 1e-7);
}

TEST(LevenbergMarquardt, ZeroesTheResidualsOfUnderdeterminedAndRankDeficientSystems) {
  for (auto problem : {linear(7, 20), linear(15, 10, 4)}) {
    const auto result = run(problem, std::vector<double>(problem.size()), 60);
    EXPECT_LT(problem.value(result.x), 1e-24);
  }
}

// r = x / 1000 - 1: the Gauss-Newton step to x = 1000 is longer than a network would survive.
TEST(LevenbergMarquardt, TakesNoStepLongerThanTheParametersAre) {
  ResidualFunction far(1, 1, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = x[0] / 1000 - 1;
    J[0] = 1e-3;
  });
  for (const auto adaptation : {Options::Adaptation::length, Options::Adaptation::target}) {
    Options options;
    options.adaptation = adaptation;
    LevenbergMarquardt lm(far.layout(), options);
    std::vector<double> x{0};
    int steps = 0;
    for (; std::abs(x[0] - 1000) > 1e-6 && steps < 100; ++steps) {
      const double before = x[0];
      lm.step(far, x);
      ASSERT_LE(std::abs(x[0] - before), 1 + std::abs(before));
    }
    EXPECT_GE(steps, 9);  // lengths double at best: 1, 2, 4, …
    EXPECT_NEAR(x[0], 1000, 1e-6);
  }
  Options free;
  free.longest_step = 0;
  EXPECT_NEAR(run(far, {0}, 1, free).x[0], 1000, 2);
}

// As after a change of problem, when lambda is still that of the previous problem's last digits: tripled each
// time, it would not get large enough in the tries available.
TEST(LevenbergMarquardt, ShortensAStepThatIsTooLongToAboutWhatIsAllowedWithATarget) {
  auto problem = linear(20, 7, 0, 0.1);
  std::vector<double> full(7), x(7);
  const auto exact = make_linearization(problem, {.form = Form::orthogonal});
  exact->build(x);
  ASSERT_TRUE(exact->damp(1e-12));
  exact->solve(full);
  for (const double part : {0.9, 0.2, 1e-3})
    for (const Form form : {Form::primal, Form::dual, Form::conjugate_gradients, Form::orthogonal}) {
      const double limit = part * norm(full);  // of a step from 0
      std::fill(x.begin(), x.end(), 0.0);
      LevenbergMarquardt lm(problem.layout(), {.form = form,
                                               .adaptation = Options::Adaptation::target,
                                               .acceleration = false,
                                               .initial_damping = 1e-13,
                                               .longest_step = limit});
      const auto report = lm.step(problem, x);
      EXPECT_EQ(report.status, Status::running) << report.message;
      EXPECT_LE(report.step_norm, limit);
      EXPECT_GE(report.step_norm, 0.75 * limit);
    }
}

TEST(LevenbergMarquardt, SaysWhyItEnds) {
  auto exact = linear(5, 3);
  const auto zero = run(exact, {1, 1, 1}, 5);
  // The sums of A (1, 1, 1) round to b exactly: both are added in the same order.
  EXPECT_EQ(zero.last.status, Status::converged);
  EXPECT_EQ(zero.last.message, "all residuals are exactly zero");
  EXPECT_EQ(zero.x, std::vector<double>({1, 1, 1}));

  auto inconsistent = linear(20, 7, 0, 0.1);
  const auto floor = run(inconsistent, std::vector<double>(7), 200);
  EXPECT_EQ(floor.last.status, Status::stalled);
  EXPECT_NE(floor.last.message.find("rounding floor"), std::string::npos) << floor.last.message;

  ResidualFunction flat(2, 1, [](std::span<const double>, std::span<double> r, double*) { r[0] = 1; });
  const auto stationary = run(flat, {0, 0}, 5);
  EXPECT_EQ(stationary.last.status, Status::converged);
  EXPECT_NE(stationary.last.message.find("gradient is exactly zero"), std::string::npos);
}

TEST(LevenbergMarquardt, SaysWhichFormItChoseAndHowMuchMemoryItTakes) {
  auto wide = linear(7, 20), tall = linear(20, 7);
  EXPECT_NE(run(wide, std::vector<double>(20), 1).last.message.find("dual form: Cholesky of a 7 × 7"),
            std::string::npos);
  EXPECT_NE(run(tall, std::vector<double>(7), 1).last.message.find("primal form: Cholesky of a 7 × 7"),
            std::string::npos);
  EXPECT_NE(
      run(tall, std::vector<double>(7), 1, {.max_memory = 1e-9}).last.message.find("conjugate gradients"),
      std::string::npos);
}

TEST(LevenbergMarquardt, TakesWhatIsFreeWhereTheMatricesLieAndCountsThem) {
  // Room for 100 doubles, of which 60 % may be taken: a matrix of 7 × 7 fits, one of 8 × 8 does not.
  class Small final : public ResidualFunction {
   public:
    using ResidualFunction::ResidualFunction;
    double available_bytes() const override { return 100 * sizeof(double); }
  };
  const auto zero = [](std::span<const double> x, std::span<double> r, double* J) {
    for (std::size_t i = 0; i < x.size(); ++i) r[i] = x[i] - 1, J[i * (x.size() + 1)] = 1;
  };
  for (const std::size_t n : {7, 8}) {
    Small problem(n, n, zero);
    LevenbergMarquardt lm(problem.layout(), {});
    EXPECT_EQ(lm.memory_bytes(), n * n * sizeof(double));  // expected, before anything is known
    std::vector<double> x(n);
    const std::string message = lm.step(problem, x).message;
    EXPECT_EQ(message.find("conjugate gradients") != std::string::npos, n == 8) << message;
    // For conjugate gradients that leaves two blocks of three vectors.
    EXPECT_EQ(lm.memory_bytes(), (n == 8 ? 2 * 3 * 8 : n * n) * sizeof(double));
  }
}

TEST(LevenbergMarquardt, LeavesParametersAndDampingAloneWhereResidualsAreNotFinite) {
  for (const Form form : {Form::primal, Form::dual, Form::conjugate_gradients, Form::orthogonal}) {
    auto problem = exponential_fit(), calm_problem = exponential_fit();
    LevenbergMarquardt disturbed(problem.layout(), {.form = form}), calm(problem.layout(), {.form = form});
    std::vector<double> x{1, 1, 0}, y = x;
    for (int t = 0; t < 6; ++t) {
      if (t == 2) {
        problem.poison = std::nan("");
        const auto report = disturbed.step(problem, x);
        EXPECT_EQ(report.status, Status::non_finite);
        EXPECT_EQ(report.message, "the residuals are not finite");
        problem.poison = 0;
      }
      disturbed.step(problem, x);
      calm.step(calm_problem, y);
      EXPECT_EQ(x, y);
    }
  }
}

// What is evaluated ahead would be evaluated anyway, and everything is counted.
TEST(LevenbergMarquardt, CountsWhatItEvaluatesAndTriesLengthsInPairs) {
  class Counted final : public ResidualFunction {
   public:
    explicit Counted(ResidualFunction f) : ResidualFunction(std::move(f)) {}
    double value(std::span<const double> x) override {
      ++evaluations;
      return ResidualFunction::value(x);
    }
    void values(std::span<const double> xs, std::span<double> values) override {
      largest_batch = std::max(largest_batch, values.size());
      Objective::values(xs, values);
    }
    void residuals(std::span<const double> x, std::span<double> r) override {
      ++evaluations;
      ResidualFunction::residuals(x, r);
    }
    int evaluations = 0;
    std::size_t largest_batch = 0;
  };
  using Options = LevenbergMarquardtOptions;
  const Options cases[] = {{}, {.acceleration = false, .halvings = 0}, {.halvings = 1}, {.halvings = 4}};
  for (const Options& options : cases)
    for (const auto adaptation : {Options::Adaptation::length, Options::Adaptation::target}) {
      Counted problem(rosenbrock());
      Options with = options;
      with.adaptation = adaptation;
      LevenbergMarquardt lm(problem.layout(), with);
      std::vector<double> x{-1.2, 1};
      for (int t = 0; t < 25; ++t) {  // down to zero residuals, where values are sums in twice the precision
        problem.evaluations = 0;
        const auto report = lm.step(problem, x);
        EXPECT_EQ(report.evaluations, problem.evaluations) << t;
        if (report.status != Status::running) break;
      }
      EXPECT_EQ(problem.largest_batch,
                options.halvings > 0 && adaptation == Options::Adaptation::length ? 2 : 1);
    }
}

TEST(LevenbergMarquardt, BacksAwayFromPointsWhereResidualsAreNotFinite) {
  // log x: the full step from 5 leads to negative x.
  ResidualFunction problem(1, 1, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = std::log(x[0]);
    J[0] = 1 / x[0];
  });
  const auto result = run(problem, {5}, 60);
  EXPECT_NEAR(result.x[0], 1, 1e-12);
}

TEST(LevenbergMarquardt, RefusesWhatItCannotDoAndNamesTheWayOut) {
  auto problem = linear(5, 3);
  const auto message = [&](const Options& options) -> std::string {
    try {
      LevenbergMarquardt lm(problem.layout(), options);
      std::vector<double> x(3);
      lm.step(problem, x);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({.form = Form::dual, .damping = Damping::marquardt})
                .find("use form=primal, form=qr or form=cg"),
            std::string::npos);
  EXPECT_NE(message({.form = Form::primal, .max_memory = 1e-9}).find("max_memory"), std::string::npos);
  EXPECT_NE(message({.form = Form::dual, .max_memory = 1e-9}).find("max_memory"), std::string::npos);
}

TEST(LevenbergMarquardt, ReportsConditionNumberAndEffectiveRank) {
  auto problem = linear(15, 10, 4, 0.1);
  for (const Form form : {Form::primal, Form::dual, Form::orthogonal}) {
    // The rank is for the given damping: no step limit may raise it.
    LevenbergMarquardt lm(problem.layout(),
                          {.form = form, .initial_damping = 1e-10, .longest_step = 0, .spectrum_every = 1});
    std::vector<double> x(10);
    lm.step(problem, x);
    double rank = 0;
    for (const auto& d : lm.diagnostics())
      if (d.quantity == "effective_rank") rank = d.value;
    EXPECT_NEAR(rank, 4, 1e-3);
  }
}

TEST(LevenbergMarquardt, GoesOnBitForBitFromASavedState) {
  for (const Form form : {Form::primal, Form::dual, Form::conjugate_gradients, Form::orthogonal}) {
    auto problem = rosenbrock();
    LevenbergMarquardt original(problem.layout(), {.form = form}), restored(problem.layout(), {.form = form});
    std::vector<double> x{-1.2, 1};
    for (int t = 0; t < 5; ++t) original.step(problem, x);
    StateWriter writer;
    original.state(writer);
    StateReader reader(writer.bytes());
    restored.state(reader);
    EXPECT_TRUE(reader.at_end());
    auto y = x;
    for (int t = 0; t < 8; ++t) {
      original.step(problem, x);
      restored.step(problem, y);
      ASSERT_EQ(std::memcmp(x.data(), y.data(), sizeof(double) * 2), 0) << "step " << t;
    }
  }
}

}  // namespace
}  // namespace lather::optim
