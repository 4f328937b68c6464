// Methods that use the Jacobian of the residuals: what all of them must do, and each one's formula.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "from_json.hpp"
#include "lather/core/error.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/least_squares/solvers/conjugate_gradients.hpp"
#include "lather/optim/least_squares/solvers/kronecker_sum.hpp"
#include "lather/optim/line_search/grid.hpp"
#include "optim/test_functions.hpp"
#include "residual_problems.hpp"

namespace lather::optim {
namespace {

using namespace residual_problems;
using nlohmann::json;

struct JacobianMethod {
  std::string name;
  json settings = json::object();
};

const std::vector<JacobianMethod> kJacobianMethods = {
    {"lm"},
    {"lm", {{"form", "dual"}}},
    {"lm", {{"form", "cg"}, {"damping", "marquardt"}}},
    {"lm", {{"form", "qr"}}},
    {"lm", {{"adaptation", "target"}}},
    {"gauss-newton"},
    {"engd"},
    {"engd", {{"damping", 1e-10}}},
    {"anagram"},
    {"anagram", {{"rows", "weighted"}, {"absolute_cutoff", 1e-6}}},
    {"spring"},
    {"spring-paper", {{"learning_rate", 1}, {"norm_constraint", 1}, {"momentum", 0.5}}},
    {"nncg"},
    {"nncg", {{"hessian", "gauss-newton"}, {"rank", 3}, {"refresh_every", 2}}},
    {"kfac", {{"averaging", 0.5}, {"momentum", 0.3}}},
    {"kfac", {{"damping_rule", "trace-norm"}, {"start_at_identity", false}, {"momentum", 0}}},
    {"kfac-star", {{"averaging", 0.5}}},
    {"lm", {{"form", "cg"}, {"rank", 3}, {"refresh_every", 2}}},
    {"lm", {{"form", "cg"}, {"preconditioner", "diagonal"}}},
    {"lm", {{"form", "sketch"}, {"sketch_size", 5}}},
};

class EveryJacobianMethod : public ::testing::TestWithParam<JacobianMethod> {
 protected:
  std::unique_ptr<Optimizer> make(const ParameterLayout& layout) const {
    return make_from_json(GetParam().name, layout, GetParam().settings);
  }
};
INSTANTIATE_TEST_SUITE_P(All, EveryJacobianMethod, ::testing::ValuesIn(kJacobianMethods),
                         [](const auto& info) {
                           std::string name = std::to_string(info.index) + "_" + info.param.name;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(JacobianMethods, AreAllInTheListAbove) {
  for (const auto& e : catalogue()) {
    const auto tried = std::count_if(kJacobianMethods.begin(), kJacobianMethods.end(),
                                     [&](const JacobianMethod& m) { return m.name == e.name; });
    // `linear` needs an output layer: linear_test.cpp
    EXPECT_TRUE(tried > 0 || !e.needs_residuals || e.name == "linear") << e.name;
  }
}

TEST_P(EveryJacobianMethod, FitsALinearLayer) {
  LinearLayer problem;
  const auto optimizer = make(problem.layout());
  std::vector<double> x(problem.size());
  const double start = problem.value(x);
  for (int t = 0; t < 60; ++t) {
    const auto report = optimizer->step(problem, x);
    if (report.status != Status::running) {
      EXPECT_NE(report.status, Status::non_finite) << report.message;
      break;
    }
  }
  EXPECT_LT(problem.value(x), 1e-10 * start);
}

TEST_P(EveryJacobianMethod, GoesOnBitForBitFromASavedState) {
  for (const int saved_after : {0, 1, 3}) {
    LinearLayer problem;
    const auto original = make(problem.layout()), restored = make(problem.layout());
    std::vector<double> x(problem.size());
    for (int t = 0; t < saved_after; ++t) original->step(problem, x);
    StateWriter writer;
    original->state(writer);
    StateReader reader(writer.bytes());
    restored->state(reader);
    EXPECT_TRUE(reader.at_end());
    auto y = x;
    for (int t = 0; t < 5; ++t) {
      original->step(problem, x);
      restored->step(problem, y);
      ASSERT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(double)), 0)
          << "saved after " << saved_after << ", step " << t;
    }
  }
}

TEST_P(EveryJacobianMethod, LeavesTheParametersAloneAndSaysSoWhereResidualsAreNotFinite) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    LinearLayer problem;
    const auto optimizer = make(problem.layout());
    std::vector<double> x(problem.size());
    optimizer->step(problem, x);
    optimizer->objective_changed();
    problem.poison = bad;
    const auto before = x;
    const auto report = optimizer->step(problem, x);
    EXPECT_EQ(report.status, Status::non_finite);
    EXPECT_NE(report.message.find("not finite"), std::string::npos);
    EXPECT_EQ(x, before);
    problem.poison = 0;
    optimizer->objective_changed();
    optimizer->step(problem, x);
    for (const double value : x) EXPECT_TRUE(std::isfinite(value));
    EXPECT_NE(x, before);
  }
}

TEST_P(EveryJacobianMethod, StandsStillAndSaysWhyWhereAllResidualsAreZero) {
  LinearLayer problem;
  const auto optimizer = make(problem.layout());
  auto x = LinearLayer::truth();
  const auto report = optimizer->step(problem, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_NE(report.message.find("zero"), std::string::npos) << report.message;
  EXPECT_EQ(x, LinearLayer::truth());
}

TEST_P(EveryJacobianMethod, RefusesAnObjectiveWithoutResiduals) {
  if (!find_optimizer(GetParam().name).needs_residuals) GTEST_SKIP() << "any function will do";
  DiagonalQuadratic problem({1, 2});
  std::vector<double> x{1, 1};
  EXPECT_THROW(make(problem.layout())->step(problem, x), Error);
}

// Rank-deficient, underdetermined and overdetermined; K-FAC needs layers and is left out.
TEST_P(EveryJacobianMethod, LowersTheLossOfAnyLinearSystem) {
  if (GetParam().name.starts_with("kfac")) GTEST_SKIP() << "no layers";
  for (auto problem : {linear(20, 7), linear(7, 20), linear(15, 10, 4)}) {
    const auto optimizer = make(problem.layout());
    std::vector<double> x(problem.size());
    const double start = problem.value(x);
    for (int t = 0; t < 60 && optimizer->step(problem, x).status == Status::running; ++t) continue;
    EXPECT_LT(problem.value(x), 1e-8 * start);
  }
}

TEST(GridSearch, TakesTheBestPowerOfTwoAndZeroWhereNoneHelps) {
  DiagonalQuadratic problem({2});  // x^2
  StepReport report;
  const std::vector<double> x{1}, d{-3}, uphill{1};
  EXPECT_EQ(grid_search(problem, x, d, 1, 30, report), 0.25);  // 1 - 3/4 beats 1 - 3/2
  EXPECT_EQ(report.evaluations, 31);
  EXPECT_EQ(grid_search(problem, x, uphill, 1, 30, report), 0);
}

TEST(Factorizations, CholeskyAndSvdReproduceTheirMatrix) {
  std::vector<double> a{4, 0, 2, 3}, b{8, 7};
  const linalg::MatrixView A{a.data(), 2, 2};
  ASSERT_TRUE(linalg::cholesky(A));
  linalg::cholesky_solve(A, b);  // [4 2; 2 3] (1.25, 1.5) = (8, 7)
  EXPECT_NEAR(b[0], 1.25, 1e-15);
  EXPECT_NEAR(b[1], 1.5, 1e-15);
  std::vector<double> indefinite{1, 0, 2, 1}, with_nan{std::nan(""), 0, 0, 1};
  EXPECT_FALSE(linalg::cholesky({indefinite.data(), 2, 2}));
  EXPECT_FALSE(linalg::cholesky({with_nan.data(), 2, 2}));

  std::vector<double> m(3 * 5), u(3 * 3), s(3), v(5 * 3);
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = Random(1, 2).normal(i);
  ASSERT_TRUE(linalg::thin_svd({m.data(), 3, 5}, {u.data(), 3, 3}, s, {v.data(), 5, 3}));
  EXPECT_GE(s[0], s[1]);
  EXPECT_GE(s[1], s[2]);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += u[i * 3 + k] * s[k] * v[j * 3 + k];
      EXPECT_NEAR(sum, m[i * 5 + j], 1e-14);
    }
}

TEST(ConjugateGradients, SolveASmallSystemAndNoticeNegativeCurvature) {
  const auto system = [](double last) {
    return [last](std::span<const double> p, std::span<double> Ap) {
      Ap[0] = 2 * p[0] + p[1];
      Ap[1] = p[0] + last * p[1];
    };
  };
  const auto none = [](std::span<const double> r, std::span<double> z) {
    std::copy(r.begin(), r.end(), z.begin());
  };
  const std::vector<double> b{3, 4};
  std::vector<double> x{10, -3};
  const auto result = conjugate_gradients(system(3), none, b, x, {1e-14, 10});
  EXPECT_NEAR(x[0], 1, 1e-13);
  EXPECT_NEAR(x[1], 1, 1e-13);
  EXPECT_LE(result.iterations, 3);
  x = {0, 0};
  EXPECT_TRUE(conjugate_gradients(system(-3), none, b, x, {1e-14, 10}).negative_curvature);
}

std::vector<double> random_positive(std::size_t n, std::uint64_t seed) {
  std::vector<double> a(n * n), result(n * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = Random(seed, 5).normal(i);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) result[i * n + j] += a[i * n + k] * a[j * n + k];
      result[i * n + j] += i == j ? 0.1 : 0;
    }
  return result;
}

TEST(KroneckerSum, SolvesAsADenseMatrixWould) {
  constexpr std::size_t m = 4, n = 3;
  const auto A1 = random_positive(m, 1), B1 = random_positive(n, 2), A2 = random_positive(m, 3),
             B2 = random_positive(n, 4);
  std::vector<double> G(m * n);
  for (std::size_t i = 0; i < G.size(); ++i) G[i] = Random(9, 9).normal(i);
  for (const bool two : {false, true}) {
    // Row-major vec: entry ((i, j), (k, l)) = A[i, k] B[j, l].
    std::vector<double> dense(m * n * m * n), expected = G, X(m * n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < m; ++k)
          for (std::size_t l = 0; l < n; ++l)
            dense[(i * n + j) * m * n + k * n + l] =
                A1[i * m + k] * B1[j * n + l] + (two ? A2[i * m + k] * B2[j * n + l] : 0);
    ASSERT_TRUE(linalg::cholesky({dense.data(), m * n, m * n}));
    linalg::cholesky_solve({dense.data(), m * n, m * n}, expected);
    KroneckerSum sum;
    using View = linalg::ConstMatrixView;
    ASSERT_TRUE(sum.decompose({A1.data(), m, m}, {B1.data(), n, n}, two ? View{A2.data(), m, m} : View{},
                              two ? View{B2.data(), n, n} : View{}));
    sum.solve({G.data(), m, n}, {X.data(), m, n});
    for (std::size_t i = 0; i < X.size(); ++i) EXPECT_NEAR(X[i], expected[i], 1e-11);
  }
}

// Where J^T J is a Kronecker product, K-FAC without averaging is Gauss–Newton: one step.
TEST(Kfac, SolvesALinearLayerInOneStepWhenItsFactorsAreExact) {
  for (const char* name : {"kfac", "kfac-star"}) {
    LinearLayer problem;
    const auto kfac = make_from_json(name, problem.layout(), {{"averaging", 0}, {"damping", 1e-13}});
    std::vector<double> x(problem.size());
    kfac->step(problem, x);
    const auto truth = LinearLayer::truth();
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], truth[i], 1e-10) << name;
  }
}

TEST(Kfac, SaysThatAnObjectiveGivesNoFactors) {
  auto problem = exponential_fit();
  const auto kfac = make_from_json("kfac", problem.layout(), json::object());
  std::vector<double> x{1, 1, 0};
  try {
    kfac->step(problem, x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "this objective gives no Kronecker factors");
  }
}

// K-FAC* minimizes |r + J (alpha Delta + mu delta)|^2 (here with negligible damping): the gradient after the
// step of a linear problem is orthogonal to both directions.
TEST(KfacStar, StepsToTheMinimumOfThePlaneOfItsTwoDirections) {
  LinearLayer problem;
  const auto kfac = make_from_json("kfac-star", problem.layout(), {{"averaging", 0.9}, {"damping", 1e-14}});
  std::vector<double> x(problem.size()), g(problem.size());
  std::vector<double> previous_step;
  for (int t = 0; t < 4; ++t) {
    const auto before = x;
    kfac->step(problem, x);
    std::vector<double> step(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) step[i] = x[i] - before[i];
    problem.value_and_gradient(x, g);
    const double scale = norm(g) + 1e-12;
    EXPECT_LT(std::abs(dot(g, step)), 1e-8 * scale * norm(step));
    if (!previous_step.empty()) {
      EXPECT_LT(std::abs(dot(g, previous_step)), 1e-8 * scale * norm(previous_step));
    }
    previous_step = step;
  }
}

// Engd and ANaGRAM: the minimum-norm solution of J d = r, hence for a linear system one full step (1/2 for
// the paper's gradient with its factor 2).
TEST(NaturalGradient, SolvesLinearSystemsInOneStepWithMinimumNorm) {
  for (const char* name : {"engd", "anagram"}) {
    auto problem = linear(7, 20);
    std::vector<double> x(20), minimum_norm(20), K(49), r(7);
    problem.residual_gram(x, K.data(), r);
    ASSERT_TRUE(linalg::cholesky({K.data(), 7, 7}));
    for (double& value : r) value = -value;
    linalg::cholesky_solve({K.data(), 7, 7}, r);
    problem.transposed_jacobian_times(x, r, minimum_norm);  // -J^T (J J^T)^{-1} r
    make_from_json(name, problem.layout(), json::object())->step(problem, x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], minimum_norm[i], 1e-9) << name;
  }
}

TEST(Anagram, CutsOffSingularValues) {
  // Singular values 1 and 1e-3: with a cut-off between them only the first direction moves.
  ResidualFunction problem(2, 2, [](std::span<const double> x, std::span<double> r, double* J) {
    r[0] = x[0] - 1;
    r[1] = 1e-3 * (x[1] - 1);
    J[0] = 1;
    J[3] = 1e-3;
  });
  std::vector<double> x{0, 0};
  make_from_json("anagram", problem.layout(), {{"cutoff", 1e-2}})->step(problem, x);
  EXPECT_NEAR(x[0], 1, 1e-15);
  EXPECT_EQ(x[1], 0);
}

// phi minimizes |J phi + r|^2 + lambda |phi - mu phi_prev|^2: its gradient there vanishes.
TEST(Spring, MinimizesItsRegularizedModel) {
  auto problem = linear(7, 12, 0, 0.3);
  const double lambda = 0.05, mu = 0.8;
  const auto spring = make_from_json(
      "spring-paper", problem.layout(),
      {{"damping", lambda}, {"momentum", mu}, {"learning_rate", 1}, {"norm_constraint", 1e10}});
  std::vector<double> x(12), phi_previous(12);
  for (int t = 0; t < 5; ++t) {
    const auto before = x;
    spring->step(problem, x);
    std::vector<double> phi(12), model(7), r(7), gradient(12);
    for (std::size_t i = 0; i < 12; ++i) phi[i] = x[i] - before[i];
    problem.residuals(before, r);
    problem.jacobian_times(before, phi, model);
    add_scaled(model, 1, r);
    problem.transposed_jacobian_times(before, model, gradient);
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_NEAR(gradient[i] + lambda * (phi[i] - mu * phi_previous[i]), 0, 1e-11) << "step " << t;
    phi_previous = phi;
  }
}

TEST(Spring, ObeysItsBoundOnTheLengthOfAStep) {
  auto problem = linear(7, 12);
  const auto spring =
      make_from_json("spring-paper", problem.layout(), {{"norm_constraint", 1e-4}, {"learning_rate", 1}});
  std::vector<double> x(12);
  EXPECT_NEAR(spring->step(problem, x).step_norm, 1e-2, 1e-15);
}

TEST(NysNewtonCg, TakesANewtonStepOnAQuadratic) {
  DiagonalQuadratic problem({1, 10, 100, 1000});
  const auto nncg = make_from_json("nncg", problem.layout(), {{"damping", 1e-9}});
  std::vector<double> x{1, 1, 1, 1};
  nncg->step(problem, x);
  for (const double value : x)
    EXPECT_NEAR(value, 0, 1e-6);  // central differences give the Hessian to eps^(2/3)
}

}  // namespace
}  // namespace lather::optim
