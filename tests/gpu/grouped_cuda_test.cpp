// Residuals that add up values of several points, and coefficients from tables: CPU and GPU agree.
#include <gtest/gtest.h>

#include "gpu/path_of_parts.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "paths.hpp"

namespace lather::pde {
namespace {

// Pairs of places, integrals at several times and one over a boundary with an unknown, a table everywhere.
constexpr const char* kGrouped = R"T(name = "grouped"
coordinates = ["x", "y"]
fields = ["u"]
[unknown]
flux = 0.3
[domain]
x = [0, 1]
y = [0, 3]
[table.kappa]
file = "numpy.npz"
[[equation]]
name = "diffusion"
residual = "D(kappa*u_x, x) + u_yy + flux*u"
[[condition]]
name = "periodic"
where = "x = 0"
linked = "x = 1"
residual = ["u", "kappa*u_x"]
points = 11
weight = 3
[[integral]]
name = "energy"
where = "inside domain"
integrand = "kappa*u^2"
equals = 1
nodes = 20
[[integral]]
name = "outflow"
where = "boundary"
integrand = "normal_x*u_x + normal_y*u_y"
equals = "flux"
nodes = 4
weight = 2
)T";

// The factors see groups of points as additional components of a point.
void expect_same_factors(PinnObjective& cpu, PinnObjective& gpu, std::span<const double> x) {
  using optim::KroneckerFactors;
  const auto expected = cpu.kronecker_factors(x, KroneckerFactors::Sharing::reduce),
             got = gpu.kronecker_factors(x, KroneckerFactors::Sharing::reduce);
  ASSERT_EQ(got.layers.size(), expected.layers.size());
  for (std::size_t l = 0; l < got.layers.size(); ++l)
    for (std::size_t g = 0; g < got.layers[l].groups.size(); ++g) {
      expect_close(got.layers[l].groups[g].A, expected.layers[l].groups[g].A, 1e-11, "A");
      expect_close(got.layers[l].groups[g].B, expected.layers[l].groups[g].B, 1e-11, "B");
    }
  expect_close(got.diagonal, expected.diagonal, 1e-11, "diagonal");
}

class GroupedOnCuda : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(GroupedOnCuda, AgreesWithTheCpu) {
  REQUIRE_GPU();
  const auto& [network, tile_rows] = GetParam();
  const Problem problem =
      read_problem_text(kGrouped + network, ::lather::test::source_path("tests/pde/tables/grouped.toml"));
  PinnObjective cpu(problem, {.threads = 1});
  PinnObjective gpu(problem, {.device = Device::cuda, .tile_rows = static_cast<std::size_t>(tile_rows)});
  auto x = cpu.initialize(3);
  gpu.initialize(3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.1 * Random(5, 5).normal(i);
  PointOptions options;
  options.points = {{"interior", 70}};
  std::vector<double> weights(11);
  for (int i = 0; i < 11; ++i) weights[i] = 0.5 + 0.1 * i;
  for (auto* objective : {&cpu, &gpu}) {
    PointSource(problem, sampling_settings(options, problem), 2).update(0, *objective, x);
    objective->set_point_weights(1, weights);
  }
  std::vector<double> expected(x.size()), got(x.size());
  const double loss = cpu.value_and_gradient(x, expected);
  EXPECT_NEAR(gpu.value_and_gradient(x, got) / loss, 1, 1e-12);
  expect_close(got, expected, 1e-11, "gradient");
  expect_close(gpu.term_losses(), cpu.term_losses(), 1e-12, "term losses");

  const std::size_t n = x.size(), m = cpu.residual_count();
  ASSERT_EQ(gpu.residual_count(), m);
  std::vector<double> r(m), r_gpu(m), J(m * n), J_gpu(m * n), JtJ(n * n), JtJ_gpu(n * n), Jtr(n), Jtr_gpu(n);
  cpu.residuals(x, r);
  gpu.residuals(x, r_gpu);
  expect_close(r_gpu, r, 1e-11, "residual");
  cpu.jacobian_rows(x, 0, m, J.data());
  gpu.jacobian_rows(x, 0, m, J_gpu.data());
  expect_close(J_gpu, J, 1e-11, "Jacobian");
  cpu.normal_equations(x, JtJ.data(), Jtr);
  gpu.normal_equations(x, JtJ_gpu.data(), Jtr_gpu);
  expect_close(Jtr_gpu, Jtr, 1e-11, "J^T r");

  if (tile_rows == 0) expect_the_path_of_its_parts(gpu, x, {1e-3, 0.1, false});
  if (!problem.network.weight_factorization) expect_same_factors(cpu, gpu, x);
  const symbolic::Expr u = problem.fields[0].value;
  const Points anywhere{{{0.1, 0.9}, {2.5, 0}}, {}};
  const std::vector<symbolic::Expr> list{u, problem.terms[0].residual};
  for (int e = 0; e < 2; ++e)
    expect_close(gpu.evaluate(x, list, anywhere)[e], cpu.evaluate(x, list, anywhere)[e], 1e-11, "evaluated");
}

INSTANTIATE_TEST_SUITE_P(
    All, GroupedOnCuda,
    testing::Values(std::tuple{"[network]\nwidth = 6\ndepth = 2\nweight_factorization = true\n", 0},
                    std::tuple{"[network]\nwidth = 6\ndepth = 2\n", 300}),
    [](const auto& info) { return std::get<1>(info.param) == 0 ? "whole" : "in_batches"; });

}  // namespace
}  // namespace lather::pde
