// The model counts the bytes sent and gives the times measured on one H200.
#include "scaling/scaling_model.hpp"

#include <gtest/gtest.h>

#include "lather/pde/objective.hpp"
#include "parallel/thread_ranks.hpp"
#include "pde/sample_problems.hpp"

namespace lather::parallel {
namespace {

using namespace pde::test;
using namespace lab;

TEST(ScalingModel, CountsTheBytesThatRanksSend) {
  const pde::Problem problem = make_problem(derivative_sets()[2], {.width = 24, .depth = 3});
  for (const int ranks : {2, 4, 8}) {
    double gradient = 0, matrix = 0;
    std::size_t n = 0, m = 0;
    testing::on_ranks(ranks, [&](Communicator& communicator) {
      const pde::Problem own = make_problem(derivative_sets()[2], {.width = 24, .depth = 3});
      pde::PinnObjective objective(own, {.threads = 1, .shards = 16, .ranks = &communicator});
      const auto x = objective.initialize(1);
      objective.set_points(0, random_points(2, 1024, 3));
      std::vector<double> g(objective.size()), JtJ(g.size() * g.size());
      objective.value_and_gradient(x, g);
      const double before = communicator.bytes_sent();
      objective.normal_equations(x, JtJ.data(), g);
      if (communicator.rank() != 0) return;
      gradient = before;
      matrix = communicator.bytes_sent() - before;
      n = objective.size();
      m = objective.residual_count();
    });
    Workload w;
    w.parameters = static_cast<double>(n);
    w.residuals = static_cast<double>(m);
    w.terms = 3;  // two, and the unknown's
    // What a rank sends goes to every other rank; rows and parts are padded to whole tiles.
    EXPECT_NEAR(gradient / gradient_bytes(w, ranks), 1, 0.15) << ranks;
    EXPECT_NEAR(matrix / normal_matrix_bytes(w, Cluster{}, ranks), 1, 0.35) << ranks;
  }
}

struct Evaluation {
  double width, points, milliseconds;
};

TEST(ScalingModel, HasTheTimesOfOneH200) {
  for (const auto& [width, points, measured] :
       {Evaluation{64, 4096, 0.150}, Evaluation{128, 8192, 0.417}, Evaluation{256, 8192, 1.129},
        Evaluation{1024, 8192, 13.02}}) {
    Workload w;
    w.width = width;
    w.matrix_parameters = 3 * width * width;
    w.points = points + 512;
    w.components = (4 * points + 512) / w.points;
    EXPECT_NEAR(H200().gradient(w, w.points) * 1e3 / measured, 1, 0.15) << width;
  }
  struct Iteration {
    double parameters, points, milliseconds;
  };
  for (const auto& [n, points, measured] :
       {Iteration{4353, 12000, 12.1}, Iteration{16897, 20000, 173}, Iteration{33537, 40000, 1288}}) {
    Workload w;
    w.parameters = n;
    w.matrix_parameters = n;
    w.width = 128;
    w.points = w.residuals = points;
    w.components = 4;
    w.least_squares = true;
    w.gradients_per_step = 0;
    w.values_per_step = 11;
    EXPECT_NEAR(predict(w, H200(), h200_cluster(), 1).total() * 1e3 / measured, 1, 0.2) << n;
  }
}

TEST(ScalingModel, RanksThatDoNotDivideTheShardsWait) {
  TimedRank rank;
  rank.gradient_seconds = 1;
  rank.points = 100;
  Workload w;
  w.points = 100;
  w.shards = 16;
  const Cluster instant{{0, 1e300}, {0, 1e300}, 8, true};
  EXPECT_DOUBLE_EQ(predict(w, rank, instant, 4).total(), 0.25);
  EXPECT_DOUBLE_EQ(predict(w, rank, instant, 3).total(), 6.0 / 16);
}

}  // namespace
}  // namespace lather::parallel
