#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "from_json.hpp"
#include "lather/core/error.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/optim/quasi_newton/bfgs.hpp"
#include "lather/optim/quasi_newton/ss_bfgs.hpp"
#include "lather/optim/quasi_newton/ss_broyden.hpp"
#include "optim/replay/quasi_newton.hpp"
#include "paths.hpp"
#include "quasi_support.hpp"
#include "small_matrices.hpp"

namespace lather::optim {
namespace {

using namespace testing;
using testing_support::inverse;
using testing_support::Mat;
using testing_support::product;
using Json = nlohmann::json;

Json golden(const std::string& name) {
  std::ifstream file(lather::test::source_path("tests/golden/") + name + ".json");
  return Json::parse(file);
}

TEST(QuasiNewtonGolden, LbfgsFollowsTorch) {
  for (const auto* name : {"lbfgs_quadratic", "lbfgs_rosenbrock8"}) {
    const auto replay = replay_objective(golden(name));
    EXPECT_LE(replay.deviation, replay.tolerance) << name;
    EXPECT_GT(replay.compared, 100u);
  }
}

TEST(QuasiNewtonGolden, UpdatesOfTheInverseHessianAreThoseOfTheReference) {
  for (const auto* name : {"bfgs", "ss_bfgs", "ss_bfgs_oren_luenberger", "ss_broyden1", "ss_broyden2"}) {
    const auto replay = replay_inverse_hessian_updates(golden(name));
    EXPECT_LE(replay.deviation, replay.tolerance) << name;
    EXPECT_GT(replay.compared, 400u);
  }
}

TEST(QuasiNewtonGolden, WholeRunsWithTheLineSearchFollowTheReference) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"bfgs", "bfgs"},
                                                                  {"ss_bfgs", "ss-bfgs"},
                                                                  {"ss_bfgs_oren_luenberger", "ss-bfgs"},
                                                                  {"ss_broyden1", "ss-broyden"},
                                                                  {"ss_broyden2", "ss-broyden"}};
  for (const auto& [file, name] : cases) {
    Json settings = {{"approximate_wolfe", 0}};
    if (file == "ss_bfgs_oren_luenberger") settings["scaling"] = "ol";
    if (file == "ss_broyden1") settings["variant"] = 1;
    const Json record = golden(file);
    auto x = record["x0"].get<std::vector<double>>();
    Rosenbrock objective(x.size());
    const auto optimizer = make_from_json(name, objective.layout(), settings);
    const auto& iterates = record["iterates"];
    double deviation = 0;
    for (std::size_t k = 1; k < iterates.size(); ++k) {
      optimizer->step(objective, x);
      for (std::size_t i = 0; i < x.size(); ++i)
        deviation = std::max(deviation, std::abs(x[i] - iterates[k][i].get<double>()));
    }
    // Rounding differences grow along a run; a different formula or step choice would show in the first
    // digits.
    EXPECT_LE(deviation, 1e-8) << file;
  }
}

TEST(QuasiNewtonGolden, ADamagedRecordIsAnErrorAndAWrongOneADeviation) {
  Json record = golden("bfgs");
  record["updates"][3]["H_next"][2][1] = record["updates"][3]["H_next"][2][1].get<double>() + 1e-3;
  EXPECT_GT(replay_inverse_hessian_updates(record).deviation, 1e-4);
  record["updates"][3]["s"].erase(0);
  EXPECT_THROW(replay_inverse_hessian_updates(record), Error);
  record = golden("lbfgs_quadratic");
  record["hyper"]["objective"] = "sum of cosines";
  EXPECT_THROW(replay_objective(record), Error);
  record = golden("lbfgs_quadratic");
  record.erase("x0");
  EXPECT_THROW(replay_objective(record), Error);
  record = golden("lbfgs_quadratic");
  record["reference"] = "torch.optim.Adam";
  EXPECT_THROW(replay_objective(record), Error);
}

TEST(QuasiNewtonGolden, ObjectivesAreReadFromTheirDescriptionInAnyDimension) {
  const std::vector<double> x{0.5, -0.25, 2};
  EXPECT_DOUBLE_EQ(objective_from_text("sum_{i<3} 100 (x[i+1]-x[i]^2)^2 + (1-x[i])^2", 3)->value(x),
                   Rosenbrock(3).value(x));
  EXPECT_DOUBLE_EQ(objective_from_text("sum 10*(x[i+1]-x[i]^2)^2 + (1-x[i])^2", 3)->value(x),
                   Rosenbrock(3, 10).value(x));
  EXPECT_DOUBLE_EQ(objective_from_text("Rosenbrock in 3 variables", 3)->value(x), Rosenbrock(3).value(x));
  EXPECT_DOUBLE_EQ(objective_from_text("1/2 sum_i d_i x_i^2, d = 10^(4 i/2), i=0..2", 3)->value(x),
                   DiagonalQuadratic({1, 100, 10000}).value(x));
}

// A random positive definite H, and a step along -H g of a random quadratic.
struct RandomStep {
  std::vector<double> H, s, y, g;
  double alpha;
  SecantPair pair() const { return {s, y, alpha, g}; }
};
RandomStep random_step(int n, std::uint64_t seed) {
  const auto random = normal_point(static_cast<std::size_t>(2 * n * n + n), seed);
  const Eigen::Map<const Mat> R(random.data(), n, n), T(random.data() + n * n, n, n);
  const Eigen::Map<const Eigen::VectorXd> g(random.data() + 2 * n * n, n);
  Mat H = product({R, R.transpose()}) + 0.1 * Mat::Identity(n, n);
  const Mat A = product({T, T.transpose()}) + 0.1 * Mat::Identity(n, n);
  H = (H + H.transpose()).eval() / 2;  // R R^T is symmetric only up to rounding
  const double alpha = 0.3 + 0.1 * static_cast<double>(seed % 7);
  const Eigen::VectorXd s = -alpha * product({H, g}), y = product({A, s});
  return {
      {H.data(), H.data() + n * n}, {s.begin(), s.end()}, {y.begin(), y.end()}, {g.begin(), g.end()}, alpha};
}

std::vector<std::pair<std::string, ScalingRule>> all_rules() {
  std::vector<std::pair<std::string, ScalingRule>> rules;
  for (const auto* name : {"BFGS", "SSBFGS_AB", "SSBFGS_OL", "SSBroyden1", "SSBroyden2", "SSBroyden3"})
    rules.emplace_back(name, scaling_rule_from_text(name));
  return rules;
}

TEST(InverseHessian, EveryUpdateSatisfiesTheSecantEquationAndStaysSymmetricAndPositiveDefinite) {
  for (const auto& [name, rule] : all_rules())
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const int n = 2 + static_cast<int>(seed % 12);
      auto step = random_step(n, seed);
      const auto report = update_inverse_hessian(step.H, step.pair(), rule);
      ASSERT_TRUE(report.applied) << name;
      const Eigen::Map<const Mat> H(step.H.data(), n, n);
      const Eigen::Map<const Eigen::VectorXd> s(step.s.data(), n), y(step.y.data(), n);
      EXPECT_LE((product({H, y}) - s).norm(), 1e-11 * s.norm() * (1 + H.norm() * y.norm() / s.norm()))
          << name;
      EXPECT_EQ((H - H.transpose()).cwiseAbs().maxCoeff(), 0) << name;
      std::vector<double> eigenvalues(static_cast<std::size_t>(n));
      ASSERT_TRUE(linalg::eigenvalues(
          linalg::view(std::span<const double>(step.H), eigenvalues.size(), eigenvalues.size()),
          eigenvalues));
      EXPECT_GT(eigenvalues.back(), 0) << name;
      const auto before = random_step(n, seed);
      const Mat H_inverse = inverse(Eigen::Map<const Mat>(before.H.data(), n, n));
      EXPECT_NEAR(report.curvature.b, product({s.transpose(), H_inverse, s})(0) / s.dot(y),
                  1e-6 * report.curvature.b);
    }
}

TEST(InverseHessian, BfgsIsTheTextbookProductForm) {
  const int n = 6;
  auto step = random_step(n, 11);
  const Mat H = Eigen::Map<const Mat>(step.H.data(), n, n);
  const Eigen::Map<const Eigen::VectorXd> s(step.s.data(), n), y(step.y.data(), n);
  const double rho = 1 / y.dot(s);
  const Mat V = Mat::Identity(n, n) - rho * product({s, y.transpose()});
  const Mat expected =
      product({V, H, V.transpose()}) + rho * product({s, s.transpose()});  // Nocedal & Wright, eq. 6.17
  update_inverse_hessian(step.H, step.pair(), bfgs_scaling);
  EXPECT_LE((Eigen::Map<const Mat>(step.H.data(), n, n) - expected).norm(), 1e-11 * expected.norm());
}

TEST(InverseHessian, ThreadsChangeNothing) {
  auto a = random_step(37, 4), b = a;
  ThreadTeam team(3);
  update_inverse_hessian(a.H, a.pair(), all_rules()[4].second);
  update_inverse_hessian(b.H, b.pair(), all_rules()[4].second, &team);
  EXPECT_EQ(a.H, b.H);
}

TEST(InverseHessian, ThetaZeroMakesBroydenAlBaali) {
  // b <= 1 and h (1 - c) >= 1: then theta- = 0; with (1 - b)/b not clipped to anything smaller, b = 1 gives
  // theta = 0.
  const Curvature curvature{1, 1, 3, 2, 5};
  const auto broyden = ss_broyden_scaling(2, curvature),
             bfgs = ss_bfgs_scaling(SelfScaling::al_baali, curvature);
  EXPECT_DOUBLE_EQ(broyden.phi, bfgs.phi);
  EXPECT_DOUBLE_EQ(broyden.tau, bfgs.tau);
}

TEST(InverseHessian, ParallelVectorsAndDimensionOneGiveFiniteNumbers) {
  for (const auto& [name, rule] : all_rules()) {
    std::vector<double> H{2};
    const std::vector<double> g{1}, s{-1}, y{-4};  // alpha = 1/2
    const auto report = update_inverse_hessian(H, {s, y, 0.5, g}, rule);
    EXPECT_TRUE(report.applied) << name;
    EXPECT_NEAR(H[0], 0.25, 1e-15) << name;
  }
}

TEST(InverseHessian, IsKeptWhereThereIsNoPositiveCurvature) {
  for (const double sign : {-1.0, 0.0}) {
    auto step = random_step(4, 2);
    for (double& value : step.y) value *= sign;
    const auto before = step.H;
    const auto report = update_inverse_hessian(step.H, step.pair(), bfgs_scaling);
    EXPECT_FALSE(report.applied);
    EXPECT_FALSE(report.message.empty());
    EXPECT_EQ(step.H, before);
  }
}

TEST(DenseQuasiNewton, RefusesALayoutThatDoesNotFitAndSaysHowLargeItWouldBe) {
  ParameterLayout layout;
  layout.add_matrix("w", 1000, 1000);
  try {
    make_from_json("bfgs", layout, Json{{"max_memory", 4}});
    FAIL() << "no refusal";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("7.45e+03 GiB"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("max_memory"), std::string::npos);
  }
}

TEST(DenseQuasiNewton, TerminatesOnAQuadraticAboutAsFastAsTheoryPromises) {
  // With exact line searches n steps suffice; with Wolfe steps a few more.
  DiagonalQuadratic objective({1, 10, 100, 1000});
  for (const auto* name : {"bfgs", "ss-bfgs", "ss-broyden"}) {
    const auto optimizer = make_from_json(name, objective.layout(), Json{{"c2", 0.1}});
    std::vector<double> x(4, 1.0);
    EXPECT_LE(run_steps(*optimizer, objective, x, 25), 1e-14) << name;
  }
}

TEST(Lbfgs, ReachesTheRoundingLevelOfALossFarBelowTorchsAbsoluteThresholds) {
  // The loss scaled by 1e-12: slopes, curvatures and changes are all below 1e-9.
  class Tiny final : public Objective {
   public:
    const ParameterLayout& layout() const override { return inner.layout(); }
    double value(std::span<const double> x) override { return 1e-12 * inner.value(x); }
    double value_and_gradient(std::span<const double> x, std::span<double> g) override {
      const double f = inner.value_and_gradient(x, g);
      for (double& entry : g) entry *= 1e-12;
      return 1e-12 * f;
    }
    Rosenbrock inner{2};
  };
  Tiny objective;
  const std::vector<double> start{-1.2, 1};
  Lbfgs production(objective.layout(), {}), torch(objective.layout(), torch_lbfgs_options());
  EXPECT_LT(run_steps(production, objective, start, 100), 1e-28);
  EXPECT_GT(run_steps(torch, objective, start, 100), 1e-12);
}

TEST(Lbfgs, DoesNotFormASecantAcrossAChangeOfTheObjective) {
  // Two quadratics with opposite steep axes, changed every third step: pairs across the change would have y.s
  // < 0 or contain nonsense.
  DiagonalQuadratic a({1, 1000}), b({1000, 1});
  Lbfgs lbfgs(a.layout(), {});
  std::vector<double> x{1, 1};
  for (int k = 0; k < 30; ++k) {
    if (k % 3 == 0) lbfgs.objective_changed();
    const auto report = lbfgs.step(k % 6 < 3 ? static_cast<Objective&>(a) : b, x);
    if (report.status != Status::running) break;
    EXPECT_EQ(report.message.find("curvature"), std::string::npos) << report.message;
  }
  EXPECT_LT(a.value(x), 1e-10);
}

}  // namespace
}  // namespace lather::optim
