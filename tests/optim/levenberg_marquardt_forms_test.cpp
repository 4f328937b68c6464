// The four forms of Levenberg–Marquardt: the same step, and what each can do that the others cannot.
#include <gtest/gtest.h>

#include "ill_conditioned.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/solvers/normal_matrix.hpp"
#include "lather/optim/least_squares/solvers/secular.hpp"
#include "levenberg_marquardt_runs.hpp"
#include "residual_problems.hpp"

namespace lather::optim {
namespace {

using namespace residual_problems;
using namespace ill_conditioned;
using namespace levenberg_marquardt_runs;

std::vector<double> one_step(Objective& objective, Form form, Damping damping = Damping::identity) {
  Options options{.form = form, .damping = damping};
  options.cg_tolerance = 1e-13;
  return run(objective, std::vector<double>(objective.size(), 0.3), 1, options).x;
}
double relative_difference(std::span<const double> a, std::span<const double> b) {
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = std::fmax(difference, std::abs(a[i] - b[i]));
  return difference / largest_magnitude(b);
}

// r + J x, with the rows of J. Both must outlive it.
ResidualFunction linear_problem(std::span<const double> J, std::span<const double> r) {
  return {kColumns, kRows, [=](std::span<const double> x, std::span<double> out, double* rows) {
            for (std::size_t k = 0; k < kRows; ++k)
              out[k] = r[k] + std::inner_product(x.begin(), x.end(), &J[k * kColumns], 0.0);
            std::copy(J.begin(), J.end(), rows);
          }};
}

TEST(LevenbergMarquardt, TakesTheSameStepInItsFourForms) {
  // More residuals than parameters, fewer, and a Jacobian of deficient rank.
  for (auto problem :
       {linear(20, 7, 0, 0.1), linear(7, 20, 0, 0.1), linear(15, 10, 4, 0.1), exponential_fit()}) {
    const auto primal = one_step(problem, Form::primal), dual = one_step(problem, Form::dual),
               cg = one_step(problem, Form::conjugate_gradients), qr = one_step(problem, Form::orthogonal);
    EXPECT_LT(relative_difference(dual, primal), 1e-8);
    EXPECT_LT(relative_difference(cg, primal), 1e-8);
    EXPECT_LT(relative_difference(qr, primal), 1e-8);
  }
}

TEST(LevenbergMarquardt, TakesTheSameMarquardtStepInEveryFormThatHasIt) {
  for (auto problem : {linear(20, 7, 0, 0.1), linear(7, 20, 0, 0.1)})
    for (const Form form : {Form::conjugate_gradients, Form::orthogonal})
      EXPECT_LT(relative_difference(one_step(problem, form, Damping::marquardt),
                                    one_step(problem, Form::primal, Damping::marquardt)),
                1e-8);
}

TEST(LevenbergMarquardt, SolvesOrthogonallyWhatCholeskyCannot) {
  const auto J = rows(), r = right_hand_side(J);
  ResidualFunction problem = linear_problem(J, r);
  constexpr double kLambda = 1e-22;
  const std::vector<double> x(kColumns);
  std::vector<double> d(kColumns);
  const auto qr = make_linearization(problem, {.form = Form::orthogonal});
  qr->build(x);
  ASSERT_TRUE(qr->damp(kLambda));
  qr->solve(d);
  auto exact = exact_solution(J, r, static_cast<__float128>(kLambda) * qr->mean_diagonal());
  for (double& value : exact) value = -value;
  EXPECT_LT(relative_difference(d, exact), 1e-3);  // rounding (1e-16) times the condition (1e12)

  const auto primal = make_linearization(problem, {.form = Form::primal});
  primal->build(x);
  std::vector<double> wrong(kColumns);
  const bool factored = primal->damp(kLambda);
  if (factored) primal->solve(wrong);
  EXPECT_TRUE(!factored || relative_difference(wrong, exact) > 1e-2);
}

TEST(LevenbergMarquardt, LeavesTheFloorOfCholeskyByTheOrthogonalFormWhereThatPays) {
  const auto J = rows(), r = right_hand_side(J);
  ResidualFunction problem = linear_problem(J, r);
  const std::vector<double> start(kColumns);
  const auto result = run(problem, start, 80), by_cholesky = run(problem, start, 80, {.form = Form::primal});
  EXPECT_LT(result.last.loss, 1e-2 * by_cholesky.last.loss);

  // The same with a target: Cholesky's floor is reached in a few steps and left after twenty more.
  LevenbergMarquardt lm(problem.layout(), {.adaptation = Options::Adaptation::target});
  std::vector<double> x = start;
  double at_floor = 0, last = 0, lambda = 0;
  for (int step = 0; step < 80; ++step) {
    last = lm.step(problem, x).loss;
    if (step == 15) at_floor = last;
    for (const auto& d : lm.diagnostics())
      if (d.quantity == "lambda") lambda = d.value;
  }
  EXPECT_LT(last, 1e-2 * at_floor);
  EXPECT_LT(lambda, 0.1 * std::numeric_limits<double>::epsilon() * kColumns);
}

// The exact |d(lambda)| of the ill-conditioned problem.
double exact_length(std::span<const double> J, std::span<const double> r, double shift) {
  return norm(exact_solution(J, r, shift));
}

TEST(SecularEquation, GivesTheDampingOfAStepOfGivenLength) {
  const auto J = rows(), r = right_hand_side(J);
  ResidualFunction problem = linear_problem(J, r);
  const std::vector<double> x(kColumns);
  std::vector<double> d(kColumns);
  const auto qr = make_linearization(problem, {.form = Form::orthogonal});
  qr->build(x);
  const double D = qr->mean_diagonal(), longest = std::sqrt(kColumns);  // J d = -r for d = -(1, …, 1)
  for (const double part : {0.99, 0.9, 0.5, 0.1, 1e-3, 1e-8}) {
    const double radius = part * longest;
    double low = 1e-26, high = 1e12;  // bisection of log(lambda)
    for (int k = 0; k < 100; ++k) {
      const double middle = std::sqrt(low * high);
      (exact_length(J, r, middle * D) > radius ? low : high) = middle;
    }
    for (const double start : {1e-24, 1e-3}) {
      int factorizations = 0;
      double last = 0;
      const auto lambda = solve_secular(
          [&](double at) {
            ++factorizations;
            last = at;
            if (!qr->damp(at)) return StepLength{};
            qr->solve(d);
            return StepLength{norm(d), qr->shrinkage(d)};
          },
          start, radius, {.tolerance = 1e-5, .tries = 100});
      ASSERT_TRUE(lambda) << part;
      EXPECT_EQ(*lambda, last);
      EXPECT_NEAR(exact_length(J, r, *lambda * D) / radius, 1, 1e-4) << part;
      EXPECT_NEAR(std::log(*lambda / low), 0, 0.05) << part;
      EXPECT_LT(factorizations, 30) << part << " from " << start;
    }
  }
  // No damping makes a step longer than the undamped one.
  EXPECT_FALSE(solve_secular(
      [&](double at) {
        qr->damp(at);
        qr->solve(d);
        return StepLength{norm(d), qr->shrinkage(d)};
      },
      1, 2 * longest));
}

TEST(Linearization, KnowsHowFastAStepShrinksWithTheDampingInEveryForm) {
  auto tall = linear(20, 7, 0, 0.1), wide = linear(7, 20, 0, 0.1);
  for (auto* problem : {&tall, &wide})
    for (const Form form :
         {Form::primal, Form::dual, Form::conjugate_gradients, Form::orthogonal, Form::sketch})
      for (const Damping damping : {Damping::identity, Damping::marquardt}) {
        if (form == Form::dual && damping == Damping::marquardt) continue;
        const auto linear = make_linearization(
            *problem, {.form = form, .damping = damping, .cg_tolerance = 1e-13, .sketch_columns = 5});
        const std::vector<double> x(problem->size(), 0.3);
        std::vector<double> d(problem->size());
        linear->build(x);
        const auto length = [&](double lambda) {
          EXPECT_TRUE(linear->damp(lambda));
          linear->solve(d);
          return norm(d);
        };
        const double lambda = 0.05, h = 1e-5 * lambda;
        const double slope = (length(lambda - h) - length(lambda + h)) / (2 * h);
        length(lambda);
        EXPECT_NEAR(linear->shrinkage(d) / slope, 1, 1e-5);
      }
}

TEST(NormalMatrix, IsStillThereWhenItHasBeenFactored) {
  constexpr std::size_t n = 50;  // more than a tile
  auto problem = linear(80, n);
  const std::vector<double> x(n, 0.3), D(n, 1.0);
  std::vector<double> Jtr(n), JtJ(n * n), before(n * n), after(n * n);
  const auto matrix = make_host_normal_matrix(problem, n);
  matrix->build_normal(x, Jtr);
  matrix->copy_lower(before);
  problem.normal_equations(x, JtJ.data(), Jtr);
  EXPECT_EQ(before, JtJ);
  const auto solution_for = [&](double lambda) {
    EXPECT_TRUE(matrix->factor(lambda, D));
    std::vector<double> d = Jtr;
    matrix->solve(d);
    return d;
  };
  const auto first = solution_for(0.1);
  EXPECT_NE(solution_for(10), first);
  EXPECT_FALSE(matrix->factor(-1e3, D));
  EXPECT_EQ(solution_for(0.1), first);
  matrix->copy_lower(after);
  EXPECT_EQ(after, before);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(matrix->diagonal()[i], JtJ[i * (n + 1)]);
}

TEST(CholeskyFloor, IsLeftForAsLongAsThatPays) {
  const auto after_probe = [](double before, double during) {
    CholeskyFloor floor;
    for (int step = 0; step < 20; ++step) {
      EXPECT_FALSE(floor.left()) << step;
      floor.stepped(before, true);
    }
    for (int step = 0; step < 15; ++step) {
      EXPECT_TRUE(floor.left()) << step;
      floor.stepped(during, false);
    }
    return floor;
  };
  EXPECT_FALSE(after_probe(0.01, 0.02).left());
  CholeskyFloor floor = after_probe(0.01, 0.1);
  EXPECT_TRUE(floor.left());
  floor.objective_changed();
  EXPECT_FALSE(floor.left());
  floor.stalled();
  EXPECT_TRUE(floor.left());
}

}  // namespace
}  // namespace lather::optim
