// The engine on CUDA against the engine on the CPU, which is tested in quadruple precision
// (tests/pde/engine_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gpu/require_gpu.hpp"
#include "lather/core/error.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"
#include "lather/train/weighting/ntk.hpp"

namespace lather::pde {
namespace {

using net::ActivationName;
using net::NetworkOptions;
using net::NetworkType;
using symbolic::Expr;
using symbolic::MultiIndex;

struct DerivativeSet {
  const char* name;
  int dimensions;
  std::vector<std::array<int, 3>> orders;
};

std::vector<DerivativeSet> derivative_sets() {
  return {{"value", 2, {}},
          {"second", 2, {{2, 0, 0}, {0, 1, 0}}},
          {"laplacian", 2, {{2, 0, 0}, {0, 2, 0}}},
          {"third", 2, {{3, 0, 0}, {1, 1, 0}}},
          {"three_dimensions", 3, {{1, 1, 1}, {0, 0, 2}}}};
}

MultiIndex index_of(const std::array<int, 3>& orders) {
  MultiIndex index;
  for (int i = 0; i < 3; ++i) index.order[i] = static_cast<std::uint8_t>(orders[i]);
  return index;
}

// Interior with two residuals and an unknown, a boundary with values, and data; inputs of the network with
// varying jets.
Problem make_problem(const DerivativeSet& set, const NetworkOptions& network) {
  Problem p;
  const std::vector<std::string> names{"x", "y", "t"};
  p.symbols = std::make_shared<OutputSymbols>(
      *p.graph, std::vector<std::string>(names.begin(), names.begin() + set.dimensions),
      std::vector<std::string>{"N1", "N2"});
  for (int i = 0; i < set.dimensions; ++i) {
    p.domain.push_back({-1, 1});
    p.network_inputs.push_back(p.symbols->coordinate(i));
  }
  p.network_inputs.push_back(sin(2.0 * p.symbols->coordinate(0)));
  p.network = network;
  p.unknowns.push_back({"mu", 0.7, {}});
  const Expr mu = p.graph->symbol("mu");
  const Expr a = p.symbols->output(0), b = p.symbols->output(1), x = p.symbols->coordinate(0);
  Expr first = a * b - mu * a + sin(x), second = b - pow(x, 2);
  for (const auto& orders : set.orders) {
    first = first + 0.5 * p.symbols->output(0, index_of(orders)) * (1.0 + b);
    second = second - 0.3 * mu * p.symbols->output(1, index_of(orders));
  }
  p.point_sets.push_back({"interior", PointSet::Kind::interior, {}, {}, {}});
  p.point_sets.push_back({"walls", PointSet::Kind::boundary, {}, {}, {}});
  p.point_sets.push_back({"data", PointSet::Kind::data, {}, {"measured"}, {}});
  p.terms.push_back({"first", 0, first, 1.5});
  p.terms.push_back({"walls", 1, a - exp(b), 2.0});
  p.terms.push_back({"second", 0, second, 0.5});
  p.terms.push_back({"data", 2, mu * a - p.graph->symbol("data:measured"), 1.0});
  return p;
}

Points random_points(int dimensions, std::size_t count, std::uint64_t seed, int columns = 0) {
  Points points;
  for (int i = 0; i < dimensions + columns; ++i) {
    const Random random(seed, i);
    auto& c = (i < dimensions ? points.coordinates : points.columns).emplace_back(count);
    for (std::size_t k = 0; k < count; ++k) c[k] = random.uniform(k, -1, 1);
  }
  return points;
}

struct NetworkCase {
  std::string name;
  NetworkOptions network;
};

std::vector<NetworkCase> networks() {
  std::vector<NetworkCase> list;
  for (auto [name, activation] : {std::pair{"tanh", ActivationName::tanh},
                                  {"sin", ActivationName::sin},
                                  {"swish", ActivationName::swish},
                                  {"gelu", ActivationName::gelu},
                                  {"softplus", ActivationName::softplus}})
    list.push_back({std::string("mlp_") + name, {.width = 16, .depth = 3, .activation = activation}});
  list.push_back({"mlp_odd_width", {.width = 13, .depth = 2}});
  list.push_back({"mlp_wide", {.width = 640, .depth = 2}});
  list.push_back({"mlp_fourier_frozen", {.width = 12, .depth = 2, .fourier_features = 6}});
  list.push_back(
      {"mlp_fourier_trainable", {.width = 12, .depth = 2, .fourier_features = 8, .fourier_trainable = true}});
  list.push_back({"mlp_factorized", {.width = 10, .depth = 2, .weight_factorization = true}});
  list.push_back({"modified_mlp", {.type = NetworkType::modified_mlp, .width = 16, .depth = 2}});
  list.push_back({"piratenet",
                  {.type = NetworkType::piratenet,
                   .width = 16,
                   .depth = 2,
                   .activation = ActivationName::swish,
                   .fourier_features = 12}});
  list.push_back({"piratenet_trainable",
                  {.type = NetworkType::piratenet,
                   .width = 6,
                   .depth = 1,
                   .fourier_features = 4,
                   .fourier_trainable = true,
                   .weight_factorization = true}});
  return list;
}

struct Pair {
  Pair(const Problem& problem, int dimensions, EngineOptions options = {.device = Device::cuda},
       const std::array<std::size_t, 3>& counts = {301, 67, 40})
      : cpu(problem, {.threads = 1, .precision = options.precision}), gpu(problem, options) {
    x = cpu.initialize(11);
    gpu.initialize(11);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += 0.1 * Random(5, 5).normal(i);  // biases and alphas away from zero
    for (auto* objective : {&cpu, &gpu}) {
      objective->set_points(0, random_points(dimensions, counts[0], 17));
      objective->set_points(1, random_points(dimensions, counts[1], 18));
      objective->set_points(2, random_points(dimensions, counts[2], 19, 1));
    }
  }
  PinnObjective cpu, gpu;
  std::vector<double> x;
};

void expect_close(std::span<const double> got, std::span<const double> expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  double scale = 0;
  for (double v : expected) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * scale) << what << " " << i;
}

class EveryNetworkOnCuda : public testing::TestWithParam<std::tuple<NetworkCase, DerivativeSet>> {};

TEST_P(EveryNetworkOnCuda, AgreesWithTheCpu) {
  REQUIRE_GPU();
  const auto& [network, set] = GetParam();
  Pair p(make_problem(set, network.network), set.dimensions);
  std::vector<double> weights(301);
  for (int i = 0; i < 301; ++i) weights[i] = 0.5 + 0.01 * i;
  for (auto* objective : {&p.cpu, &p.gpu}) {
    objective->set_point_weights(0, weights);
    objective->set_term_weight(2, 3.0);
  }
  std::vector<double> expected(p.x.size()), got(p.x.size());
  const double loss = p.cpu.value_and_gradient(p.x, expected);
  EXPECT_NEAR(p.gpu.value_and_gradient(p.x, got) / loss, 1, 1e-12);
  expect_close(got, expected, 1e-11, "gradient");
  expect_close(p.gpu.term_losses(), p.cpu.term_losses(), 1e-12, "term losses");
  EXPECT_NEAR(p.gpu.value(p.x) / loss, 1, 1e-12);

  std::vector<std::vector<double>> expected_terms, got_terms;
  std::vector<double> losses(4);
  p.cpu.term_gradients(p.x, losses, expected_terms);
  p.gpu.term_gradients(p.x, losses, got_terms);
  for (int k = 0; k < 4; ++k)
    expect_close(got_terms[k], expected_terms[k], 1e-11, "gradient of term " + std::to_string(k));

  std::vector<double> expected_residuals(p.cpu.residual_count()), residuals(p.gpu.residual_count());
  p.cpu.residuals(p.x, expected_residuals);
  p.gpu.residuals(p.x, residuals);
  expect_close(residuals, expected_residuals, 1e-11, "residual");

  const Points anywhere = random_points(set.dimensions, 100, 23);
  const std::vector<Expr> list{p.cpu.problem().symbols->output(0),
                               p.cpu.problem().symbols->output(1, MultiIndex{}.plus(0))};
  const auto expected_values = p.cpu.evaluate(p.x, list, anywhere),
             values = p.gpu.evaluate(p.x, list, anywhere);
  for (int e = 0; e < 2; ++e) expect_close(values[e], expected_values[e], 1e-11, "evaluated");

  // Held-out rows of data: the residual at points that are not those of the set.
  const Points rows = random_points(set.dimensions, 30, 29, 1);
  const std::vector<Expr> data{p.cpu.problem().terms[3].residual};
  const auto& columns = p.cpu.problem().point_sets[2].columns;
  expect_close(p.gpu.evaluate(p.x, data, rows, columns)[0], p.cpu.evaluate(p.x, data, rows, columns)[0],
               1e-11, "residual of other rows");
}

INSTANTIATE_TEST_SUITE_P(All, EveryNetworkOnCuda,
                         testing::Combine(testing::ValuesIn(networks()),
                                          testing::ValuesIn(derivative_sets())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

TEST(CudaEngine, GivesTheSameBitsFromRunToRun) {
  REQUIRE_GPU();
  const Problem problem = make_problem(derivative_sets()[1], {.width = 64, .depth = 4});
  std::vector<double> first;
  for (int run = 0; run < 3; ++run) {
    Pair p(problem, 2);
    std::vector<double> g(p.x.size());
    for (int repeat = 0; repeat < 20; ++repeat) {
      const double loss = p.gpu.value_and_gradient(p.x, g);
      g.push_back(loss);
      if (first.empty()) first = g;
      ASSERT_EQ(g, first);
      g.pop_back();
    }
  }
}

TEST(CudaEngine, DoesNotDependOnBatchesOrOverlapBeyondRounding) {
  REQUIRE_GPU();
  const Problem problem =
      make_problem(derivative_sets()[1], {.type = NetworkType::modified_mlp, .width = 24, .depth = 2});
  for (const EngineOptions options :
       {EngineOptions{.device = Device::cuda, .tile_rows = 100},
        EngineOptions{.device = Device::cuda, .overlap = false},
        EngineOptions{.device = Device::cuda, .tile_rows = 7, .overlap = false}}) {
    Pair p(problem, 2, options);
    std::vector<double> expected(p.x.size()), got(p.x.size());
    p.cpu.value_and_gradient(p.x, expected);
    p.gpu.value_and_gradient(p.x, got);
    expect_close(got, expected, 1e-12, "gradient");
  }
}

TEST(CudaEngine, FollowsNewPointsWeightsAndFrozenFeatures) {
  REQUIRE_GPU();
  const Problem problem =
      make_problem(derivative_sets()[1], {.width = 24, .depth = 2, .fourier_features = 8});
  Pair p(problem, 2);
  std::vector<double> expected(p.x.size()), got(p.x.size());
  for (std::size_t count : {301u, 301u, 77u}) {
    for (auto* objective : {&p.cpu, &p.gpu}) {
      objective->set_points(0, random_points(2, count, count + 5));
      objective->set_term_weight(0, static_cast<double>(count));
    }
    p.cpu.value_and_gradient(p.x, expected);
    p.gpu.value_and_gradient(p.x, got);
    expect_close(got, expected, 1e-12, "gradient");
  }
  const std::vector<double> features(p.cpu.frozen().size(), 0.4);
  for (auto* objective : {&p.cpu, &p.gpu}) {
    objective->set_frozen(features);
    objective->set_point_weights(3, std::vector<double>(40, 0.3));
  }
  p.cpu.value_and_gradient(p.x, expected);
  p.gpu.value_and_gradient(p.x, got);
  expect_close(got, expected, 1e-12, "gradient");
}

// Everything that is made of derivatives point by point.
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
  for (auto* matrix : {&JtJ, &device_JtJ})  // the lower triangle is what is promised
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

class EveryJacobianOnCuda : public testing::TestWithParam<NetworkCase> {};

TEST_P(EveryJacobianOnCuda, AgreesWithTheCpu) {
  REQUIRE_GPU();
  Pair p(make_problem(derivative_sets()[1], GetParam().network), 2, {.device = Device::cuda}, kFewPoints);
  std::vector<double> weights(23);
  for (int i = 0; i < 23; ++i) weights[i] = 0.5 + 0.01 * i;
  for (auto* objective : {&p.cpu, &p.gpu}) objective->set_point_weights(1, weights);
  expect_the_same_curvature(p.cpu, p.gpu, p.x);
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryJacobianOnCuda,
    testing::Values(
        NetworkCase{"mlp", {.width = 6, .depth = 2}},
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
    const auto lm = optim::find_optimizer("lm").make(objective.layout(), nlohmann::json::object());
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
};
// Conjugate gradients end at a relative residual, which rounding may shift by an iteration: losses agree to
// about that residual times the condition number only.
constexpr double kIterated = 1e-4;

class EveryJacobianMethodOnCuda : public testing::TestWithParam<Method> {};

TEST_P(EveryJacobianMethodOnCuda, TakesTheStepsOfTheCpu) {
  REQUIRE_GPU();
  // Few points, so that J J^T has full rank and steps do not hang on rounding.
  Pair p(make_problem(derivative_sets()[1], {.width = 5, .depth = 2}), 2, {.device = Device::cuda},
         {23, 11, 7});
  std::vector<double> losses[2];
  int which = 0;
  for (auto* objective : {&p.cpu, &p.gpu}) {
    std::vector<double> x = p.x;
    const auto optimizer =
        optim::find_optimizer(GetParam().name).make(objective->layout(), GetParam().settings);
    for (int step = 0; step < 3; ++step) losses[which].push_back(optimizer->step(*objective, x).loss);
    losses[which++].push_back(objective->value(x));
  }
  EXPECT_LT(losses[0].back(), losses[0].front());
  for (std::size_t i = 0; i < losses[0].size(); ++i)
    EXPECT_NEAR(losses[1][i] / losses[0][i], 1, GetParam().tolerance) << i;
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryJacobianMethodOnCuda,
    testing::Values(Method{"lm"}, Method{"lm", {{"form", "primal"}}},
                    Method{"lm", {{"form", "dual"}, {"spectrum_every", 1}}},
                    Method{"lm", {{"form", "cg"}, {"damping", "marquardt"}}, kIterated},
                    Method{"lm", {{"acceleration", false}, {"adaptation", "gain"}}},
                    Method{"lm", {{"form", "qr"}, {"spectrum_every", 1}}},
                    Method{"engd", {{"damping", 1e-6}}}, Method{"anagram"}, Method{"spring"},
                    Method{"spring-paper"},
                    Method{"nncg", {{"hessian", "gauss-newton"}, {"rank", 3}}, kIterated},
                    Method{"nncg", {{"rank", 3}}, kIterated}, Method{"kfac"}, Method{"kfac-star"}),
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
    EXPECT_NE(std::string(error.what()).find("double precision"), std::string::npos) << error.what();
  }
}

TEST(CudaEngine, InSinglePrecisionAgreesWithDouble) {
  REQUIRE_GPU();
  const Problem problem = make_problem(derivative_sets()[1], {.width = 64, .depth = 3});
  Pair fine(problem, 2), coarse(problem, 2, {.device = Device::cuda, .precision = Precision::float32});
  std::vector<double> g(fine.x.size()), h(fine.x.size());
  const double loss = fine.gpu.value_and_gradient(fine.x, g),
               loss32 = coarse.gpu.value_and_gradient(fine.x, h);
  EXPECT_NEAR(loss32 / loss, 1, 1e-5);
  double norm = 0, difference = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    norm += g[i] * g[i];
    difference += (g[i] - h[i]) * (g[i] - h[i]);
  }
  EXPECT_LT(std::sqrt(difference / norm), 1e-4);
  EXPECT_GT(difference, 0) << "single precision was not used";
}

TEST(CudaEngine, SaysWhatIsMissingWhereThereIsNoGpu) {
  if (cuda_report().usable) GTEST_SKIP() << "a GPU is here";
  EXPECT_FALSE(cuda_report().text.empty());
  EXPECT_THROW(
      PinnObjective(make_problem(derivative_sets()[0], {.width = 4, .depth = 1}), {.device = Device::cuda}),
      Error);
}

}  // namespace
}  // namespace lather::pde
