// Values and residuals at several parameter vectors in one batch.
#include <gtest/gtest.h>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "sample_problems.hpp"
#include "trial_points.hpp"

namespace lather::pde {
namespace {

using namespace test;

TEST(Trials, OfABatchHaveTheBitsOfOneByOneWithAnyNumberOfThreads) {
  Problem problem = make_problem(derivative_sets()[2], {.width = 5, .depth = 2, .fourier_features = 4});
  problem.point_sets.push_back({"data", PointSet::Kind::data, {}, {}, {}});
  problem.terms.push_back({"third", 1, problem.symbols->output(0), 2.0});
  struct Case {
    int threads, shards;
    std::size_t points;  // 16 to a tile: more tiles than threads, or fewer
  };
  for (const Case c : {Case{1, 0, 200}, {2, 0, 200}, {3, 5, 200}, {2, 0, 5}, {7, 0, 40}, {3, 8, 5}})
    for (const Precision precision : {Precision::float64, Precision::float32}) {
      SCOPED_TRACE(testing::Message() << c.threads << " threads, " << c.shards << " shards, " << c.points);
      PinnObjective objective(problem, {.threads = c.threads, .shards = c.shards, .precision = precision});
      const auto x = objective.initialize(2);
      objective.set_points(0, random_points(2, c.points, 3));
      objective.set_points(1, random_points(2, 4, 5));
      objective.set_point_weights(1, std::vector<double>(c.points, 0.3));
      expect_batches_to_be_one_by_one(objective, x);
      objective.set_points(0, random_points(2, c.points + 20, 6));
      objective.set_term_weight(0, 4);
      expect_batches_to_be_one_by_one(objective, x);
    }
}

// Residuals that are sums over several points.
TEST(Trials, OfABatchHaveTheBitsOfOneByOneWhereGroupsOfPointsAreAddedUp) {
  const Problem problem = read_problem_text(R"(name = "grouped"
coordinates = ["x", "y"]
fields = ["u"]
[domain]
x = [0, 1]
y = [0, 2]
[[equation]]
name = "laplace"
residual = "u_xx + u_yy"
[[integral]]
name = "energy"
where = "inside domain"
integrand = "u^2"
equals = 1
nodes = 20
[network]
type = "mlp"
width = 4
depth = 1
)",
                                            "grouped.toml");
  PinnObjective objective(problem, {.threads = 3});
  const auto x = objective.initialize(1);
  PointOptions options;
  options.points = {{"interior", 70}};
  PointSource(problem, sampling_settings(options, problem), 2).update(0, objective, x);
  expect_batches_to_be_one_by_one(objective, x);
}

TEST(Trials, NeedPoints) {
  PinnObjective objective(make_problem(derivative_sets()[0], {.width = 3, .depth = 1}), {.threads = 2});
  const auto x = objective.initialize(1);
  std::vector<double> xs(x), values(2);
  xs.insert(xs.end(), x.begin(), x.end());
  EXPECT_THROW(objective.values(xs, values), Error);
}

}  // namespace
}  // namespace lather::pde
