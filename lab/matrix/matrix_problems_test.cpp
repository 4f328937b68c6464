#include <gtest/gtest.h>

#include "matrix/matrix_problem_parts.hpp"
#include "matrix/matrix_problems.hpp"
#include "optim/quasi_support.hpp"

namespace lather::optim {
namespace {

using namespace testing;
using namespace lab;

std::vector<std::pair<std::string, std::unique_ptr<MatrixProblem>>> small_problems() {
  std::vector<std::pair<std::string, std::unique_ptr<MatrixProblem>>> list;
  list.emplace_back("quadratic", std::make_unique<QuadraticRegression>(
                                     QuadraticRegressionOptions{.m = 7, .n = 3, .p = 11, .q = 5, .seed = 1}));
  for (const std::int64_t batch : {0, 20})
    for (const auto labels : {Labels::teacher, Labels::random})
      list.emplace_back("logistic",
                        std::make_unique<LogisticRegression>(LogisticRegressionOptions{
                            .m = 9, .n = 3, .N = 300, .q = 5, .batch = batch, .seed = 1, .labels = labels}));
  list.emplace_back("completion", std::make_unique<MatrixCompletion>(
                                      MatrixCompletionOptions{.m = 8, .n = 6, .r = 2, .seed = 1}));
  return list;
}

double metric(MatrixProblem& problem, std::span<const double> x, const std::string& name) {
  for (const auto& m : problem.metrics(x))
    if (m.name == name) return m.value;
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

TEST(MatrixProblems, GradientsAgreeWithFiniteDifferences) {
  for (auto& [name, problem] : small_problems()) {
    auto x = problem->initial_point();
    for (double& value : x) value *= 0.3;
    std::vector<double> g(x.size());
    const double f = problem->value_and_gradient(x, g);
    EXPECT_NEAR(f, problem->value(x), 1e-12 * f) << name;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double h = 1e-5, at = x[i];
      x[i] = at + h;
      const double up = problem->value(x);
      x[i] = at - h;
      const double down = problem->value(x);
      x[i] = at;
      EXPECT_NEAR(g[i], (up - down) / (2 * h), 1e-5 * (1 + std::abs(g[i])) + 1e-9 * f / h * 1e-6)
          << name << " " << i;
    }
  }
}

TEST(MatrixProblems, TheQuadraticIsTheSumOfItsSquaredResiduals) {
  for (auto& [name, problem] : small_problems()) {
    if (problem->residual_count() == 0) continue;
    const auto x = problem->initial_point();
    std::vector<double> r(problem->residual_count());
    problem->residuals(x, r);
    double sum = 0;
    for (const double value : r) sum += value * value;
    EXPECT_NEAR(sum, problem->value(x), 1e-12 * sum) << name;
  }
}

TEST(MatrixProblems, TheLogisticLossIsTheFormulaOfThePaperAndKeepsItsDigitsNearZero) {
  // m = n = N = q = 1: f = log(1 + exp(-c a x b)), all factors read off the gradient at 0, which is -c a b
  // / 2.
  LogisticRegression problem({.m = 1, .n = 1, .N = 1, .q = 1, .batch = 0, .seed = 3});
  std::vector<double> x{0}, g(1);
  EXPECT_DOUBLE_EQ(problem.value_and_gradient(x, g), std::log(2.0));
  const double cab = -2 * g[0];
  for (const double margin : {-800.0, -30.0, -1.0, 1.0, 30.0, 45.0, 300.0}) {
    x[0] = margin / cab;
    const double expected =
        margin > 0 ? std::log1p(std::exp(-margin)) : -margin + std::log1p(std::exp(margin));
    EXPECT_NEAR(problem.value_and_gradient(x, g), expected, 1e-13 * expected) << margin;
    EXPECT_NEAR(g[0], -cab / (1 + std::exp(margin)), 1e-12 * std::abs(cab) / (1 + std::exp(margin)))
        << margin;
  }
}

TEST(MatrixProblems, LabelsCloserToZeroThanTheMarginAreLeftOut) {
  LogisticRegressionOptions o{.m = 9, .n = 3, .N = 30, .q = 5, .batch = 0, .seed = 1};
  const auto teacher = matrix_problem::normal_matrix(1, matrix_problem::kTeacher, o.m, o.n);
  const auto A = matrix_problem::normal_matrix(1, matrix_problem::kA, o.N, o.m);
  const auto B = matrix_problem::normal_matrix(1, matrix_problem::kB, o.n, o.q);
  std::vector<double> sizes;
  for (Eigen::Index i = 0; i < o.N; ++i)
    for (Eigen::Index j = 0; j < o.q; ++j) {
      double z = 0;
      for (Eigen::Index k = 0; k < o.m; ++k)
        for (Eigen::Index l = 0; l < o.n; ++l) z += A(i, k) * teacher(k, l) * B(l, j);
      sizes.push_back(std::abs(z));
    }
  std::sort(sizes.begin(), sizes.end());
  const std::vector<double> zero(27), solution(teacher.data(), teacher.data() + teacher.size());
  for (const std::size_t left_out : {0U, 1U, 40U, 149U}) {
    o.margin = left_out == 0 ? 0 : 0.5 * (sizes[left_out - 1] + sizes[left_out]);
    LogisticRegression problem(o);
    const auto kept = static_cast<double>(sizes.size() - left_out);
    EXPECT_NEAR(problem.value(zero), kept * std::log(2.0), 1e-11) << left_out;
    double loss = 0;
    for (std::size_t i = left_out; i < sizes.size(); ++i) loss += std::log1p(std::exp(-sizes[i]));
    EXPECT_NEAR(problem.value(solution), loss, 1e-11 * (1 + loss)) << left_out;
    EXPECT_EQ(metric(problem, solution, "accuracy"), 1) << left_out;
  }
}

TEST(MatrixProblems, ALargeBatchOfRowsGoesThroughTheTilesAsASumOverRowsDoes) {
  // 300 rows are three tiles; each row alone is a batch of its own problem with the same seed.
  const LogisticRegressionOptions o{.m = 9, .n = 3, .N = 300, .q = 5, .batch = 0, .seed = 1};
  LogisticRegression whole(o);
  auto batched_options = o;
  batched_options.batch = 1;
  LogisticRegression single(batched_options);
  const auto x = whole.initial_point();
  // Draw single rows until each has come up about as often as expected; the mean must be that of the whole.
  double sum = 0;
  const int draws = 30000;
  for (int k = 0; k < draws; ++k) {
    single.draw_batch(k);
    sum += single.value(x);
  }
  EXPECT_NEAR(sum / draws * 300, whole.value(x), 0.05 * whole.value(x));
}

TEST(MatrixProblems, BatchesDependOnTheirNumberOnly) {
  LogisticRegression a({.m = 9, .n = 3, .N = 300, .q = 5, .batch = 20, .seed = 1}),
      b({.m = 9, .n = 3, .N = 300, .q = 5, .batch = 20, .seed = 1});
  const auto x = a.initial_point();
  a.draw_batch(1);
  a.draw_batch(7);
  b.draw_batch(7);
  EXPECT_EQ(a.value(x), b.value(x));
  b.draw_batch(8);
  EXPECT_NE(a.value(x), b.value(x));
  EXPECT_EQ(metric(a, x, "loss"), metric(b, x, "loss"));  // metrics are for the whole data set
}

TEST(MatrixProblems, MetricsAreRightWhereTheAnswerIsKnown) {
  QuadraticRegression quadratic({.m = 7, .n = 3, .p = 11, .q = 5, .seed = 1});
  Lbfgs lbfgs(quadratic.layout(), {});
  auto x = quadratic.initial_point();
  const double gap_before = metric(quadratic, x, "gap"), loss_before = metric(quadratic, x, "loss");
  for (int k = 0; k < 300; ++k) lbfgs.step(quadratic, x);
  EXPECT_NEAR(gap_before, loss_before - metric(quadratic, x, "loss"), 1e-9 * loss_before);
  EXPECT_LT(metric(quadratic, x, "gap"), 1e-15 * gap_before);
  EXPECT_GE(metric(quadratic, x, "residual_condition"), 1);

  // Rank one: the smaller of two singular values vanishes; one column has condition 1 and its length as
  // nuclear norm.
  MatrixCompletion completion({.m = 6, .n = 5, .r = 1, .seed = 2, .observed = 1});
  auto z = completion.initial_point();
  std::vector<double> g(z.size());
  completion.value_and_gradient(z, g);
  double squares = 0;
  for (int i = 0; i < 6; ++i) squares += g[static_cast<std::size_t>(i)] * g[static_cast<std::size_t>(i)];
  EXPECT_NEAR(metric(completion, z, "gradient_x_nuclear_norm"), std::sqrt(squares), 1e-12);
  EXPECT_NEAR(metric(completion, z, "gradient_x_condition"), 1, 1e-12);
  Lbfgs solver(completion.layout(), {});
  for (int k = 0; k < 200; ++k) solver.step(completion, z);
  EXPECT_LT(metric(completion, z, "relative_error"), 1e-7);
}

TEST(MatrixProblems, ATeachersLabelsCanAllBeLearned) {
  LogisticRegression problem({.m = 9, .n = 3, .N = 60, .q = 5, .batch = 0, .seed = 1});
  Lbfgs lbfgs(problem.layout(), {});
  auto x = problem.initial_point();
  EXPECT_LT(metric(problem, x, "accuracy"), 0.8);
  for (int k = 0; k < 300; ++k) lbfgs.step(problem, x);
  EXPECT_EQ(metric(problem, x, "accuracy"), 1);
}

}  // namespace
}  // namespace lather::optim
