// A step of lm along a path without intervention from the host.
#include <gtest/gtest.h>

#include "gpu/path_of_parts.hpp"
#include "gpu/require_gpu.hpp"

namespace lather::pde {
namespace {

constexpr std::array<std::size_t, 3> kCounts{61, 23, 15};

Problem small_problem() {
  return make_problem(derivative_sets()[1], {.width = 5, .depth = 2, .fourier_features = 4});
}

TEST(PathOnCuda, IsThatOfItsParts) {
  REQUIRE_GPU();
  Pair p(small_problem(), 2, {.device = Device::cuda}, kCounts);
  int bent = 0, straight = 0;
  for (const bool marquardt : {false, true})
    for (const double lambda : {1e-6, 1e-3, 1.0, 100.0}) {
      SCOPED_TRACE(testing::Message() << "lambda " << lambda << (marquardt ? " marquardt" : ""));
      (expect_the_path_of_its_parts(p.gpu, p.x, {lambda, 0.1, marquardt}) ? bent : straight) += 1;
    }
  EXPECT_GT(bent, 0);
  EXPECT_GT(straight, 0);
}

// The graph of the rows must not outlive points, weights and features.
TEST(PathOnCuda, FollowsNewPointsWeightsAndFrozenFeatures) {
  REQUIRE_GPU();
  Pair p(small_problem(), 2, {.device = Device::cuda}, kCounts);
  const optim::PathRequest request{1, 0.1, false};
  expect_the_path_of_its_parts(p.gpu, p.x, request);
  p.gpu.set_points(0, random_points(2, kCounts[0], 41));
  expect_the_path_of_its_parts(p.gpu, p.x, request);
  p.gpu.set_points(0, random_points(2, 71, 42));  // as many in all, but not of each term
  p.gpu.set_points(1, random_points(2, 3, 43));
  ASSERT_EQ(p.gpu.residual_count(), 2 * 71 + 3 + 15);
  expect_the_path_of_its_parts(p.gpu, p.x, request);
  p.gpu.set_term_weight(2, 3);
  p.gpu.set_point_weights(0, std::vector<double>(71, 0.7));
  expect_the_path_of_its_parts(p.gpu, p.x, request);
  p.gpu.set_frozen(std::vector<double>(p.gpu.frozen().size(), 0.2));
  expect_the_path_of_its_parts(p.gpu, p.x, request);
}

TEST(PathOnCuda, SaysThatTheMatrixIsNotPositiveDefinite) {
  REQUIRE_GPU();
  Pair p(small_problem(), 2, {.device = Device::cuda}, kCounts);
  const auto matrix = p.gpu.source().make_normal_matrix(p.x.size());
  std::vector<double> Jtr(p.x.size());
  double value = 0;
  optim::Path path;
  ASSERT_TRUE(matrix->build_along_path(p.x, {-1, 0.1, false}, Jtr, value, path));
  EXPECT_FALSE(path.positive_definite);
  ASSERT_TRUE(matrix->build_along_path(p.x, {1, 0.1, false}, Jtr, value, path));
  EXPECT_TRUE(path.positive_definite);
}

TEST(PathOnCuda, IsNotOfferedWhereJIsInPiecesOrShared) {
  REQUIRE_GPU();
  for (const EngineOptions& options :
       {EngineOptions{.device = Device::cuda, .tile_rows = 70}, {.device = Device::cuda, .shards = 3}}) {
    Pair p(small_problem(), 2, options, kCounts);
    const auto matrix = p.gpu.source().make_normal_matrix(p.x.size());
    std::vector<double> Jtr(p.x.size());
    double value = 0;
    optim::Path path;
    EXPECT_FALSE(matrix->build_along_path(p.x, {1, 0.1, false}, Jtr, value, path));
  }
}

}  // namespace
}  // namespace lather::pde
