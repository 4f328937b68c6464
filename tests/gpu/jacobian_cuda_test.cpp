// Jacobians on CUDA, what is computed from them, and the methods that need them, against the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/engine_pair.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/core/error.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/train/weighting/ntk.hpp"
#include "optim/from_json.hpp"

namespace lather::pde {
namespace {

// Everything that is computed from pointwise derivatives.
void expect_the_same_curvature(PinnObjective& cpu, PinnObjective& gpu, std::span<const double> x) {
  constexpr double kTolerance = 1e-11;
  const std::size_t n = x.size(), m = cpu.residual_count();
  const std::size_t rows = m / 2, first = m / 4;  // across three terms
  std::vector<double> expected(rows * n), got(rows * n);
  cpu.jacobian_rows(x, first, rows, expected.data());
  gpu.jacobian_rows(x, first, rows, got.data());
  expect_close(got, expected, kTolerance, "Jacobian");

  std::vector<double> JtJ(n * n), device_JtJ(n * n), Jtr(n), device_Jtr(n);
  const double value = cpu.normal_equations(x, JtJ.data(), Jtr);
  EXPECT_NEAR(gpu.normal_equations(x, device_JtJ.data(), device_Jtr) / value, 1, kTolerance);
  for (auto* matrix : {&JtJ, &device_JtJ})  // only the lower triangle is promised
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) (*matrix)[i * n + j] = 0;
  expect_close(device_JtJ, JtJ, kTolerance, "J^T J");
  expect_close(device_Jtr, Jtr, kTolerance, "J^T r");
  std::vector<double> diagonal(n), device_diagonal(n);
  cpu.normal_diagonal(x, diagonal);
  gpu.normal_diagonal(x, device_diagonal);
  expect_close(device_diagonal, diagonal, kTolerance, "diag(J^T J)");

  std::vector<double> JJt(m * m), device_JJt(m * m), r(m), device_r(m);
  cpu.residual_gram(x, JJt.data(), r);
  gpu.residual_gram(x, device_JJt.data(), device_r);
  for (auto* matrix : {&JJt, &device_JJt})
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = i + 1; j < m; ++j) (*matrix)[i * m + j] = 0;
  expect_close(device_JJt, JJt, kTolerance, "J J^T");
  expect_close(device_r, r, kTolerance, "r");

  std::vector<double> v(n), w(m), Jv(m), device_Jv(m), Jtw(n), device_Jtw(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = Random(7, 1).normal(i);
  for (std::size_t i = 0; i < m; ++i) w[i] = Random(7, 2).normal(i);
  cpu.jacobian_times(x, v, Jv);
  gpu.jacobian_times(x, v, device_Jv);
  expect_close(device_Jv, Jv, kTolerance, "J v");
  cpu.transposed_jacobian_times(x, w, Jtw);
  gpu.transposed_jacobian_times(x, w, device_Jtw);
  expect_close(device_Jtw, Jtw, kTolerance, "J^T w");

  using Sharing = optim::KroneckerFactors::Sharing;
  for (const Sharing sharing : {Sharing::expand, Sharing::reduce}) {
    const auto factors = cpu.kronecker_factors(x, sharing), device = gpu.kronecker_factors(x, sharing);
    expect_close(device.diagonal, factors.diagonal, kTolerance, "diagonal beside the factors");
    ASSERT_EQ(device.layers.size(), factors.layers.size());
    for (std::size_t l = 0; l < factors.layers.size(); ++l)
      for (std::size_t g = 0; g < factors.layers[l].groups.size(); ++g) {
        expect_close(device.layers[l].groups[g].A, factors.layers[l].groups[g].A, kTolerance, "factor A");
        expect_close(device.layers[l].groups[g].B, factors.layers[l].groups[g].B, kTolerance, "factor B");
      }
  }
  for (int term = 0; term < static_cast<int>(cpu.problem().terms.size()); ++term)
    expect_close(train::ntk_diagonal(gpu, x, term), train::ntk_diagonal(cpu, x, term), kTolerance,
                 "tangent kernel of term " + std::to_string(term));
}

constexpr std::array<std::size_t, 3> kFewPoints{61, 23, 15};
const NetworkOptions kFixedFeatures = {.width = 12,
                                       .depth = 1,
                                       .activation = ActivationName::sin,
                                       .initialization = net::Initialization::features,
                                       .train = net::TrainedLayers::output};

class EveryJacobianOnCuda : public testing::TestWithParam<NetworkCase> {};

TEST_P(EveryJacobianOnCuda, AgreesWithTheCpu) {
  REQUIRE_GPU();
  Pair p(make_problem(derivative_sets()[1], GetParam().network), 2, {.device = Device::cuda}, kFewPoints);
  std::vector<double> weights(23);
  for (int i = 0; i < 23; ++i) weights[i] = 0.5 + 0.01 * i;
  for (auto* objective : {&p.cpu, &p.gpu}) objective->set_point_weights(1, weights);
  expect_the_same_curvature(p.cpu, p.gpu, p.x);
}

// Layers whose signals fit neither in a warp nor in a thread block; more layers than one launch takes.
TEST(JacobianOnCuda, OfLargeAndOfManyLayersAgreesWithTheCpu) {
  REQUIRE_GPU();
  for (const NetworkOptions& network :
       {NetworkOptions{.width = 150, .depth = 2},
        NetworkOptions{.width = 150, .depth = 2, .weight_factorization = true},
        NetworkOptions{.width = 800, .depth = 2}, NetworkOptions{.width = 3, .depth = 19}}) {
    Pair p(make_problem(derivative_sets()[1], network), 2, {.device = Device::cuda}, {2, 1, 1});
    const std::size_t rows = p.cpu.residual_count();
    std::vector<double> expected(rows * p.x.size()), got(rows * p.x.size());
    p.cpu.jacobian_rows(p.x, 0, rows, expected.data());
    p.gpu.jacobian_rows(p.x, 0, rows, got.data());
    expect_close(got, expected, 1e-11, "Jacobian");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryJacobianOnCuda,
    testing::Values(
        NetworkCase{"mlp", {.width = 6, .depth = 2}},
        NetworkCase{"side_by_side", {.width = 5, .depth = 1, .networks = 2}},
        NetworkCase{"fixed_features", kFixedFeatures},
        NetworkCase{"modified_mlp_fourier",
                    {.type = NetworkType::modified_mlp, .width = 5, .depth = 1, .fourier_features = 6}},
        NetworkCase{
            "modified_mlp_factorized",
            {.type = NetworkType::modified_mlp, .width = 4, .depth = 2, .weight_factorization = true}},
        NetworkCase{"fourier_trainable",
                    {.width = 6, .depth = 1, .fourier_features = 4, .fourier_trainable = true}},
        NetworkCase{"piratenet",
                    {.type = NetworkType::piratenet, .width = 6, .depth = 2, .fourier_features = 4}},
        NetworkCase{"piratenet_factorized",
                    {.type = NetworkType::piratenet,
                     .width = 6,
                     .depth = 1,
                     .fourier_features = 4,
                     .fourier_trainable = true,
                     .weight_factorization = true}}),
    [](const auto& info) { return info.param.name; });

TEST(CudaEngine, GivesTheSameJacobianInChunks) {
  REQUIRE_GPU();
  Pair p(make_problem(derivative_sets()[1], {.width = 5, .depth = 1}), 2,
         {.device = Device::cuda, .tile_rows = 70}, kFewPoints);
  expect_the_same_curvature(p.cpu, p.gpu, p.x);
}

TEST(CudaEngine, KeepsNoJacobianOfOtherPointsWeightsOrFeatures) {
  REQUIRE_GPU();
  Pair p(make_problem(derivative_sets()[1], {.width = 5, .depth = 1, .fourier_features = 4}), 2,
         {.device = Device::cuda}, kFewPoints);
  std::vector<double> v(p.x.size(), 1.0);
  const auto expect_the_same = [&](const std::string& what) {
    std::vector<double> expected(p.cpu.residual_count()), got(expected.size());
    p.cpu.jacobian_times(p.x, v, expected);
    p.gpu.jacobian_times(p.x, v, got);
    expect_close(got, expected, 1e-11, what);
  };
  const auto both = [&](const auto& change) {
    change(p.cpu);
    change(p.gpu);
  };
  expect_the_same("at first");
  both([](PinnObjective& o) { o.set_points(0, random_points(2, 61, 31)); });
  expect_the_same("other points");
  both([](PinnObjective& o) { o.set_points(0, random_points(2, 47, 32)); });
  expect_the_same("fewer points");
  both([](PinnObjective& o) { o.set_term_weight(1, 7.0); });
  expect_the_same("another weight of a term");
  both([](PinnObjective& o) { o.set_point_weights(0, std::vector<double>(47, 0.25)); });
  expect_the_same("weights of points");
  both([](PinnObjective& o) { o.set_frozen(std::vector<double>(o.frozen().size(), 0.3)); });
  expect_the_same("other features");
  p.x[0] += 0.5;
  expect_the_same("another x");
}

// An unknown, six outputs in an ansatz, three equations.
TEST(CudaEngine, TakesTheStepsOfLevenbergAndMarquardtOnBoussinesq) {
  REQUIRE_GPU();
  const Problem problem =
      read_problem_file(find_problem("boussinesq"), {{"network.width", "5"}, {"network.depth", "2"}});
  PinnObjective cpu(problem, {.threads = 1}), gpu(problem, {.device = Device::cuda});
  const std::vector<double> start = cpu.initialize(3);
  gpu.initialize(3);
  for (auto* objective : {&cpu, &gpu}) {
    Points points = random_points(2, 31, 40);
    for (double& z : points.coordinates[0]) z = 0.5 + 0.4 * z;
    for (double& eta : points.coordinates[1]) eta = 0.75 + 0.7 * eta;
    objective->set_points(0, points);
  }
  expect_the_same_curvature(cpu, gpu, start);
  double losses[2], unknowns[2];
  for (const int which : {0, 1}) {
    PinnObjective& objective = which == 0 ? cpu : gpu;
    std::vector<double> x = start;
    const auto lm = optim::make_from_json("lm", objective.layout(), nlohmann::json::object());
    for (int step = 0; step < 3; ++step) lm->step(objective, x);
    losses[which] = objective.value(x);
    unknowns[which] = x.back();
  }
  EXPECT_LT(losses[0], 0.5 * cpu.value(start));
  EXPECT_NEAR(losses[1] / losses[0], 1, 1e-6);
  EXPECT_NEAR(unknowns[1], unknowns[0], 1e-7);
}

// The methods that need J, on a problem with an unknown.
struct Method {
  std::string name;
  nlohmann::json settings = nlohmann::json::object();
  double tolerance = 1e-7;
  NetworkOptions network = {.width = 5, .depth = 2};
};
// Conjugate gradients stop at a relative residual, which rounding may shift by an iteration: losses agree
// only to about that residual times the condition number.
constexpr double kIterated = 1e-4;

class EveryJacobianMethodOnCuda : public testing::TestWithParam<Method> {};

TEST_P(EveryJacobianMethodOnCuda, TakesTheStepsOfTheCpu) {
  REQUIRE_GPU();
  // Few points, so that J J^T has full rank and steps do not depend on rounding.
  Pair p(make_problem(derivative_sets()[1], GetParam().network), 2, {.device = Device::cuda}, {23, 11, 7});
  std::vector<double> losses[2];
  int which = 0;
  for (auto* objective : {&p.cpu, &p.gpu}) {
    std::vector<double> x = p.x;
    const auto optimizer = optim::make_from_json(GetParam().name, objective->layout(), GetParam().settings);
    for (int step = 0; step < 3; ++step) losses[which].push_back(optimizer->step(*objective, x).loss);
    losses[which++].push_back(objective->value(x));
  }
  EXPECT_LT(losses[0].back(), losses[0].front());
  for (std::size_t i = 0; i < losses[0].size(); ++i)
    EXPECT_NEAR(losses[1][i] / losses[0][i], 1, GetParam().tolerance) << i;
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryJacobianMethodOnCuda,
    testing::Values(
        Method{"lm"}, Method{"lm", {{"form", "primal"}}},
        Method{"lm", {{"form", "dual"}, {"spectrum_every", 1}}},
        Method{"lm", {{"form", "cg"}, {"cg_tolerance", 1e-8}, {"damping", "marquardt"}}, kIterated},
        Method{"lm", {{"acceleration", false}, {"adaptation", "gain"}}},
        Method{"lm", {{"adaptation", "target"}}},
        // Steps so short that their length comes from the secular equation.
        Method{"lm", {{"adaptation", "target"}, {"longest_step", 0.01}}},
        Method{"lm", {{"form", "qr"}, {"spectrum_every", 1}}}, Method{"engd", {{"damping", 1e-6}}},
        Method{"anagram"}, Method{"spring"}, Method{"spring-paper"},
        Method{"nncg", {{"hessian", "gauss-newton"}, {"rank", 3}}, kIterated},
        Method{"nncg", {{"rank", 3}}, kIterated}, Method{"kfac"}, Method{"kfac-star"},
        Method{"lm", {{"form", "cg"}, {"cg_tolerance", 1e-8}, {"rank", 12}}, kIterated},
        Method{"lm", {{"form", "cg"}, {"cg_tolerance", 1e-8}, {"preconditioner", "diagonal"}}, kIterated},
        Method{"lm", {{"form", "sketch"}}}, Method{"lm", {{"form", "sketch"}, {"sketch_size", 25}}},
        // So large a cutoff that it matters whether d is damped or x + d.
        Method{"gauss-newton", {{"cutoff", 1e-3}, {"first_cutoff", 1e-3}}},
        Method{"gauss-newton", nlohmann::json::object(), 1e-7, kFixedFeatures}),
    [](const auto& info) {
      std::string name = std::to_string(info.index) + "_" + info.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(CudaEngine, RefusesTheJacobianInSinglePrecisionOnly) {
  REQUIRE_GPU();
  PinnObjective objective(make_problem(derivative_sets()[0], {.width = 4, .depth = 1}),
                          {.device = Device::cuda, .precision = Precision::float32});
  const auto x = objective.initialize(1);
  std::vector<double> v(x.size());
  for (int set = 0; set < 3; ++set) objective.set_points(set, random_points(2, 5, set, set == 2));
  std::vector<double> Jv(objective.residual_count());
  try {
    objective.jacobian_times(x, v, Jv);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("float32"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lather::pde
