// Every problem that comes with Lather, with the network of its file: CPU and GPU agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gpu/require_gpu.hpp"
#include "lather/core/error.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/sampling/point_source.hpp"

namespace lather::pde {
namespace {

class EveryProblemOnCuda : public testing::TestWithParam<std::string> {};

// Few points: what is compared is the arithmetic at a point.
PointOptions few_points(const Problem& problem) {
  PointOptions options;
  for (const auto& set : problem.point_sets)
    if (set.kind != PointSet::Kind::data)
      options.points[set.name] =
          set.kind == PointSet::Kind::interior ? 150 : 10 * static_cast<std::int64_t>(set.pieces.size());
  return options;
}

TEST_P(EveryProblemOnCuda, HasTheLossAndTheGradientOfTheCpu) {
  REQUIRE_GPU();
  const Problem problem = read_problem_file(find_problem(GetParam()));
  PinnObjective cpu(problem, {}), gpu(problem, {.device = Device::cuda});
  auto x = cpu.initialize(3);
  gpu.initialize(3);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += 0.05 * Random(5, 5).normal(i);  // away from the initial zeros
  for (auto* objective : {&cpu, &gpu})
    PointSource(problem, sampling_settings(few_points(problem), problem), 7).update(0, *objective, x);
  std::vector<double> expected(x.size()), got(x.size());
  const double loss = cpu.value_and_gradient(x, expected);
  EXPECT_NEAR(gpu.value_and_gradient(x, got) / loss, 1, 1e-11);
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(got[i] - expected[i]));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(difference, 1e-11 * largest);
}

INSTANTIATE_TEST_SUITE_P(All, EveryProblemOnCuda, testing::ValuesIn(list_problems()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace lather::pde
