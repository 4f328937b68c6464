// Points drawn on the GPU within a row of steps, against points that the host draws before every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/require_gpu.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/sampling/point_source.hpp"

namespace lather::pde {
namespace {

using Json = nlohmann::json;

constexpr const char* kProblem = R"toml(
name = "small"
coordinates = ["x", "y", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
y = [0, 3]
t = [0, 1]
[[equation]]
name = "equation"
residual = "u_t - 0.1*(u_xx + u_yy)"
[[condition]]
name = "initial"
where = "t = 0"
residual = "u + sin(pi*x)"
[[condition]]
name = "walls"
where = ["x = -1", "x = 1", "y = 3"]
residual = "u"
[network]
width = 5
depth = 2
)toml";

struct RecipeCase {
  const char* name;
  Json recipe;
};

class DrawnOnTheDevice : public testing::TestWithParam<RecipeCase> {};

// `row` steps at a time, or with points that an objective on the host was given before every step (row = 0).
std::vector<double> train(const Json& recipe, std::size_t row, Precision precision) {
  const Problem problem = read_problem_text(kProblem, "small.toml");
  PinnObjective objective(problem, {.device = Device::cuda, .precision = precision}), on_host(problem, {});
  PinnObjective& drawn_for = row == 0 ? on_host : objective;
  PointSource source(problem,
                     sampling_settings(options::from_json<PointOptions>("training", recipe), problem), 7);
  auto x = objective.initialize(3);
  const auto optimizer = optim::make_composed(
      objective.layout(), optim::optimizer_spec({{"name", "ss-esoap"}, {"trigger", 0.05}}), Device::cuda);
  const auto update = [&](std::int64_t step) {
    const bool changed = source.update(step, drawn_for, x);
    if (row == 0)
      for (int set = 0; set < 3; ++set) objective.set_points(set, on_host.points(set));
    return changed;
  };
  update(0);
  EXPECT_EQ(source.device_draws(), row > 0);
  constexpr std::int64_t kSteps = 11;
  for (std::int64_t step = 0; step < kSteps;) {
    const std::vector<double> factors(std::clamp<std::size_t>(row, 1, kSteps - step), 1.0);
    std::int64_t done = 0;
    EXPECT_EQ(optimizer->steps(objective, x, factors, done).status, optim::Status::running);
    step += done;
    if (update(step)) optimizer->objective_changed();
  }
  return x;
}

TEST_P(DrawnOnTheDevice, GivesTheBitsOfTheHost) {
  REQUIRE_GPU();
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    const auto by_the_host = train(GetParam().recipe, 0, precision);
    EXPECT_EQ(train(GetParam().recipe, 1, precision), by_the_host);
    EXPECT_EQ(train(GetParam().recipe, 4, precision), by_the_host);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DrawnOnTheDevice,
                         testing::ValuesIn(std::vector<RecipeCase>{
                             {"uniform",
                              {{"points", {{"interior", 50}, {"initial", 20}, {"walls", 16}}},
                               {"sampling", {{"method", "uniform"}, {"every", 1}}}}},
                             {"sobol_and_a_focus",
                              {{"points", {{"interior", 50}, {"initial", 20}, {"walls", 16}}},
                               {"focus", {{{"share", 0.3}, {"x", {0, 0.5}}, {"method", "uniform"}}}},
                               {"sampling", {{"method", "sobol"}, {"every", 3}}}}},
                             {"sobol_as_it_is",
                              {{"points", {{"interior", 50}, {"initial", 20}, {"walls", 16}}},
                               {"sampling", {{"method", "sobol"}, {"shift", false}, {"every", 2}}}}},
                         }),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DeviceDraws, AreLeftToTheHostWhereTheyDependOnResidualsOrAreRare) {
  REQUIRE_GPU();
  const Problem problem = read_problem_text(kProblem, "small.toml");
  PinnObjective objective(problem, {.device = Device::cuda});
  const auto x = objective.initialize(3);
  for (const Json& sampling :
       {Json{{"method", "adaptive"}, {"every", 1}}, Json{{"method", "latin-hypercube"}, {"every", 1}},
        Json{{"method", "uniform"}, {"every", 1000}}, Json{{"method", "uniform"}}}) {
    PointSource source(
        problem,
        sampling_settings(options::from_json<PointOptions>("training", Json{{"sampling", sampling}}),
                          problem),
        7);
    source.update(0, objective, x);
    EXPECT_FALSE(source.device_draws()) << sampling.dump();
  }
}

}  // namespace
}  // namespace lather::pde
