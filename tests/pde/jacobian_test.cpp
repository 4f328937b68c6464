#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lather/pde/objective.hpp"
#include "sample_problems.hpp"

namespace lather::pde {
namespace {

using namespace test;

// Interior with two terms and an unknown, and a second point set with values only; weights of all kinds.
struct Fixture {
  explicit Fixture(const NetworkOptions& network, int threads = 2)
      : problem(make_problem(derivative_sets()[2], network)) {
    problem.point_sets.push_back({"wall", PointSet::Kind::boundary, {}, {}, {}});
    problem.terms.push_back({"wall", 1, problem.symbols->output(0) - 0.3, 10.0});
    objective = std::make_unique<PinnObjective>(problem, EngineOptions{.threads = threads});
    x = objective->initialize(3);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.2 * Random(6, 6).normal(i);
    objective->set_points(0, random_points(2, 61, 4));
    objective->set_points(1, random_points(2, 13, 5));
    std::vector<double> weights(61);
    for (int i = 0; i < 61; ++i) weights[i] = 0.5 + 0.01 * i;
    objective->set_point_weights(1, weights);
    m = objective->residual_count();
    n = objective->size();
    J.resize(m * n);
    objective->jacobian_rows(x, 0, m, J.data());
  }
  Problem problem;
  std::unique_ptr<PinnObjective> objective;
  std::vector<double> x, J;
  std::size_t m, n;
};

class JacobianOfEveryNetwork : public testing::TestWithParam<Case> {};

TEST_P(JacobianOfEveryNetwork, IsTheDerivativeOfTheResiduals) {
  Fixture f(GetParam().network);
  ASSERT_EQ(f.m, 61u * 2 + 13u);
  double largest = 0;
  for (double v : f.J) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < f.n; ++i) {
    const double h = 1e-5;
    auto plus = f.x, minus = f.x;
    plus[i] += h;
    minus[i] -= h;
    std::vector<double> r_plus(f.m), r_minus(f.m);
    f.objective->residuals(plus, r_plus);
    f.objective->residuals(minus, r_minus);
    for (std::size_t k = 0; k < f.m; ++k)
      ASSERT_NEAR(f.J[k * f.n + i], (r_plus[k] - r_minus[k]) / (2 * h), 2e-8 * largest)
          << "residual " << k << " parameter " << i;
  }
}

TEST_P(JacobianOfEveryNetwork, GivesTheFastProductsThePlainOnesDo) {
  Fixture f(GetParam().network);
  // Any range of rows.
  std::vector<double> some(30 * f.n);
  f.objective->jacobian_rows(f.x, 50, 30, some.data());
  for (std::size_t k = 0; k < some.size(); ++k) ASSERT_NEAR(some[k], f.J[50 * f.n + k], 1e-13);

  std::vector<double> JtJ(f.n * f.n), Jtr(f.n), plain_JtJ(f.n * f.n), plain_Jtr(f.n);
  const double value = f.objective->normal_equations(f.x, JtJ.data(), Jtr);
  const double plain_value =
      f.objective->optim::Objective::normal_equations(f.x, plain_JtJ.data(), plain_Jtr);
  EXPECT_NEAR(value, plain_value, 1e-13 * value);
  double scale = 0;
  for (double v : plain_JtJ) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < f.n; ++i) {
    EXPECT_NEAR(Jtr[i], plain_Jtr[i], 1e-13 * scale);
    for (std::size_t j = 0; j <= i; ++j) ASSERT_NEAR(JtJ[i * f.n + j], plain_JtJ[i * f.n + j], 1e-13 * scale);
  }
  std::vector<double> g(f.n);
  f.objective->value_and_gradient(f.x, g);
  for (std::size_t i = 0; i < f.n; ++i) EXPECT_NEAR(2 * Jtr[i], g[i], 1e-12 * scale);

  std::vector<double> v(f.n), w(f.m), Jv(f.m), Jtw(f.n);
  for (std::size_t i = 0; i < f.n; ++i) v[i] = Random(8, 1).normal(i);
  for (std::size_t k = 0; k < f.m; ++k) w[k] = Random(8, 2).normal(k);
  f.objective->jacobian_times(f.x, v, Jv);
  f.objective->transposed_jacobian_times(f.x, w, Jtw);
  for (std::size_t k = 0; k < f.m; ++k)
    EXPECT_NEAR(Jv[k], std::inner_product(v.begin(), v.end(), f.J.begin() + k * f.n, 0.0), 1e-12 * scale);
  for (std::size_t i = 0; i < f.n; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < f.m; ++k) sum += w[k] * f.J[k * f.n + i];
    EXPECT_NEAR(Jtw[i], sum, 1e-12 * scale);
  }

  std::vector<double> K(f.m * f.m), r(f.m), plain_K(f.m * f.m), plain_r(f.m);
  f.objective->residual_gram(f.x, K.data(), r);
  f.objective->optim::Objective::residual_gram(f.x, plain_K.data(), plain_r);
  scale = 0;
  for (double k : plain_K) scale = std::max(scale, std::abs(k));
  for (std::size_t k = 0; k < f.m; ++k)
    for (std::size_t l = 0; l <= k; ++l)
      ASSERT_NEAR(K[k * f.m + l], plain_K[k * f.m + l], 1e-13 * scale) << k << " " << l;
}

INSTANTIATE_TEST_SUITE_P(All, JacobianOfEveryNetwork, testing::ValuesIn(networks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lather::pde
