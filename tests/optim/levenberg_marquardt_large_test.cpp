// Levenberg–Marquardt with too many parameters for a matrix: preconditioned conjugate gradients, sketches;
// and values near rounding.
#include <gtest/gtest.h>

#include <cmath>

#include "lather/core/error.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/solvers/residual_rounding.hpp"
#include "levenberg_marquardt_runs.hpp"
#include "residual_problems.hpp"

namespace lather::optim {
namespace {

using namespace residual_problems;
using namespace levenberg_marquardt_runs;

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = std::fmax(difference, std::abs(a[i] - b[i]));
  return difference / largest_magnitude(b);
}

// With products from one call of the formula rather than one per row.
class WholeJacobian final : public ResidualFunction {
 public:
  using ResidualFunction::ResidualFunction;
  void jacobian_times(std::span<const double> x, std::span<const double> v, std::span<double> Jv) override {
    const auto J = rows(x);
    for (std::size_t k = 0; k < Jv.size(); ++k)
      Jv[k] = std::inner_product(v.begin(), v.end(), &J[k * v.size()], 0.0);
  }
  void transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                 std::span<double> Jtw) override {
    const auto J = rows(x);
    std::fill(Jtw.begin(), Jtw.end(), 0.0);
    for (std::size_t k = 0; k < w.size(); ++k) add_scaled(Jtw, w[k], {&J[k * Jtw.size()], Jtw.size()});
  }

 private:
  std::vector<double> rows(std::span<const double> x) {
    std::vector<double> J(residual_count() * size());
    jacobian_rows(x, 0, residual_count(), J.data());
    return J;
  }
};

// J x - b with singular values 1, 10^{-1/6}, 10^{-2/6}, … , 1e-5 and then all 1e-5, mixed by reflections.
WholeJacobian decaying(std::size_t m, std::size_t n) {
  std::vector<double> J(m * n), u(m), v(n), b(m);
  const auto unit = [](std::span<double> w, std::uint64_t stream) {
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = Random(5, stream).normal(i);
    const double length = norm(w);
    for (double& value : w) value /= length;
  };
  unit(u, 1);
  unit(v, 2);
  for (std::size_t k = 0; k < n; ++k) {
    const double s = std::pow(10.0, -std::fmin(static_cast<double>(k) / 6, 5));
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        J[i * n + j] += s * ((i == k) - 2 * u[i] * u[k]) * ((j == k) - 2 * v[j] * v[k]);
  }
  for (std::size_t i = 0; i < m; ++i) b[i] = Random(5, 3).normal(i);
  return {n, m, [=](std::span<const double> x, std::span<double> r, double* rows) {
            for (std::size_t i = 0; i < m; ++i)
              r[i] = std::inner_product(x.begin(), x.end(), &J[i * n], 0.0) - b[i];
            std::copy(J.begin(), J.end(), rows);
          }};
}

struct Solution {
  std::vector<double> d;
  std::int64_t iterations;
};
Solution solve(Objective& problem, const LinearizationOptions& options, double lambda) {
  const std::vector<double> x(problem.size());
  const auto linear = make_linearization(problem, options);
  linear->build(x);
  linear->precondition(x, 7);
  std::vector<double> d(problem.size());
  EXPECT_TRUE(linear->damp(lambda));
  linear->solve(d);
  return {d, linear->most_cg_iterations()};
}

TEST(PreconditionedConjugateGradients, TakeTheStepOfCholeskyInAFractionOfTheIterations) {
  auto problem = decaying(90, 60);
  for (const Damping damping : {Damping::identity, Damping::marquardt})
    for (const double lambda : {1e-6, 1e-9}) {
      LinearizationOptions cg{.form = Form::conjugate_gradients, .damping = damping};
      cg.cg_tolerance = 1e-13;
      cg.cg_iterations = 600;
      LinearizationOptions nystrom = cg;
      nystrom.preconditioner = Preconditioner::nystrom;
      nystrom.rank = 35;
      const auto primal = solve(problem, {.form = Form::primal, .damping = damping}, lambda);
      const auto diagonal = solve(problem, cg, lambda), low_rank = solve(problem, nystrom, lambda);
      EXPECT_LT(largest_difference(low_rank.d, primal.d), 1e-5) << lambda;
      EXPECT_LT(5 * low_rank.iterations, diagonal.iterations) << lambda;
    }
}

TEST(PreconditionedConjugateGradients, NeedOneIterationWithAllOfTheSpectrum) {
  auto problem = linear(20, 7);
  LinearizationOptions options{.form = Form::conjugate_gradients};
  options.preconditioner = Preconditioner::nystrom;
  options.rank = 7;
  EXPECT_LE(solve(problem, options, 1e-3).iterations, 2);
}

TEST(Sketch, HasOrthonormalColumnsAndKeepsNormsOfRows) {
  Sketch sketch({.parameters = 50, .residuals = 4000, .columns = 13, .rows = 1000});
  sketch.draw(3);
  std::vector<double> y(13), d(50), back(13);
  for (std::size_t j = 0; j < y.size(); ++j) y[j] = Random(1, 1).normal(j);
  sketch.lift(y, d);
  sketch.fold(d, back);
  EXPECT_LT(largest_difference(back, y), 1e-14);
  EXPECT_EQ(std::count(d.begin(), d.end(), 0.0), 0);  // every parameter is in a group

  std::vector<double> r(4000), hashed(1000);
  for (std::size_t k = 0; k < r.size(); ++k) r[k] = Random(1, 2).normal(k);
  sketch.hash(r, hashed);
  EXPECT_NEAR(norm(hashed) / norm(r), 1, 0.1);  // a standard deviation is 0.02

  const std::vector<std::uint32_t> first(sketch.members().begin(), sketch.members().end());
  sketch.draw(4);
  EXPECT_FALSE(std::equal(first.begin(), first.end(), sketch.members().begin()));
  sketch.draw(3);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), sketch.members().begin()));
}

TEST(SketchForm, TakesTheStepOfCholeskyWithAsManyColumnsAsParameters) {
  for (const Damping damping : {Damping::identity, Damping::marquardt})
    for (auto problem : {linear(20, 12, 0, 0.1), linear(7, 20, 0, 0.1)}) {
      const auto primal = solve(problem, {.form = Form::primal, .damping = damping}, 1e-3);
      LinearizationOptions options{.form = Form::sketch, .damping = damping};
      options.sketch_columns = problem.size();
      EXPECT_LT(largest_difference(solve(problem, options, 1e-3).d, primal.d), 1e-8);
    }
}

// For r + J C y with all rows, no other y does better.
TEST(SketchForm, TakesTheBestStepOfItsSubspace) {
  auto problem = linear(30, 20, 0, 0.5);
  LinearizationOptions options{.form = Form::sketch};
  options.sketch_columns = 8;
  const std::vector<double> x(20);
  const auto linear = make_linearization(problem, options);
  linear->build(x, 5);
  ASSERT_TRUE(linear->damp(1e-10));
  std::vector<double> d(20), gradient(20), folded(8);
  linear->solve(d);
  problem.value_and_gradient(d, gradient);
  Sketch sketch({.parameters = 20, .residuals = 30, .columns = 8});
  sketch.draw(5);
  sketch.fold(gradient, folded);
  EXPECT_LT(norm(folded), 1e-7 * norm(gradient));
}

TEST(SketchForm, ReachesTheMinimumThroughRandomSubspaces) {
  auto problem = linear(50, 30, 0, 0.5);
  const auto best = run(problem, std::vector<double>(30), 50, {.form = Form::primal});
  for (const std::int64_t columns : {10, 25}) {  // 20 hashed rows, and all 50
    Options options{.form = Form::sketch};
    options.sketch_size = columns;
    const auto result = run(problem, std::vector<double>(30), 600, options);
    EXPECT_LT(largest_difference(result.x, best.x), 1e-5) << columns << ": " << result.last.message;
  }
}

TEST(SketchForm, IsTakenWhereTheMatrixDoesNotFit) {
  class Large final : public ResidualFunction {
   public:
    Large() : ResidualFunction(linear(50, 40)) {}
    double normal_matrix_bytes(std::size_t) const override { return 10; }
    double sketched_factor_bytes(std::size_t columns, std::size_t rows) const override {
      return columns == 4 && rows == 8 ? 5 : 100;
    }
  } problem;
  const auto message = [&](double bytes) {
    Options options;
    options.max_memory = bytes / (1 << 30);
    return run(problem, std::vector<double>(40), 1, options).last.message;
  };
  EXPECT_NE(message(12).find("primal form"), std::string::npos) << message(12);
  EXPECT_NE(message(7).find("sketch form: QR of a 8 × 4 sketch of the 50 × 40"), std::string::npos)
      << message(7);
  EXPECT_NE(message(3).find("conjugate gradients"), std::string::npos) << message(3);
}

TEST(SketchForm, RefusesMoreColumnsThanParameters) {
  auto problem = linear(9, 5);
  Options options{.form = Form::sketch};
  options.sketch_size = 6;
  EXPECT_THROW(LevenbergMarquardt(problem.layout(), options), Error);
}

TEST(ResidualRounding, SumsSquaresToTheLastBit) {
  std::vector<double> r(5000);
  __float128 exact = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    r[i] = 1e-12 * Random(2, 1).normal(i) * std::pow(10.0, -3 * Random(2, 2).uniform(i));
    exact += static_cast<__float128>(r[i]) * r[i];
  }
  const double rounded = static_cast<double>(exact);
  EXPECT_LE(std::abs(compensated_squares(r) - rounded), std::nextafter(rounded, 1) - rounded);
}

TEST(LevenbergMarquardt, SaysThatTheRoundingFloorIsReachedWhereItIs) {
  // Residuals of 1e-12: as near zero as an inconsistent system of coefficients near 1 gets, and below 1e-20.
  const auto tiny = linear(40, 10, 0, 1e-12);
  auto problem = tiny;
  const auto floor = run(problem, std::vector<double>(10), 300);
  EXPECT_EQ(floor.last.status, Status::stalled);
  EXPECT_LT(floor.last.loss, 1e-20);
  EXPECT_EQ(floor.last.message.rfind("rounding floor reached", 0), 0u) << floor.last.message;
  for (const double value : floor.x) EXPECT_NEAR(value, 1, 1e-11);

  // A Jacobian of the wrong sign: nothing helps, and rounding is not the reason.
  ResidualFunction wrong(1, 1, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = 1e-11 * (x[0] - 1);
    J[0] = -1e-11;
  });
  const auto stuck = run(wrong, {0}, 20);
  EXPECT_EQ(stuck.last.status, Status::stalled);
  EXPECT_EQ(stuck.last.message.find("rounding floor"), std::string::npos) << stuck.last.message;
}

}  // namespace
}  // namespace lather::optim
