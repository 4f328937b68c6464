// Values and residuals at several parameter vectors in one batch, on CUDA.
#include <gtest/gtest.h>

#include "gpu/engine_pair.hpp"
#include "gpu/require_gpu.hpp"
#include "pde/trial_points.hpp"

namespace lather::pde {
namespace {

TEST(TrialsOnCuda, OfABatchHaveTheBitsOfOneByOne) {
  REQUIRE_GPU();
  const Problem problem = make_problem(derivative_sets()[1], {.width = 5, .depth = 1, .fourier_features = 4});
  for (const EngineOptions& options :
       {EngineOptions{.device = Device::cuda},
        EngineOptions{.device = Device::cuda, .shards = 3, .tile_rows = 70},
        EngineOptions{.device = Device::cuda, .precision = Precision::float32}}) {
    SCOPED_TRACE(testing::Message() << options.shards << " shards, " << options.tile_rows << " rows");
    Pair p(problem, 2, options, {31, 11, 7});
    test::expect_batches_to_be_one_by_one(p.gpu, p.x);
  }
}

// What graphs hold must not outlive points, weights and features.
TEST(TrialsOnCuda, FollowNewPointsWeightsAndFrozenFeatures) {
  REQUIRE_GPU();
  Pair p(make_problem(derivative_sets()[1], {.width = 5, .depth = 1, .fourier_features = 4}), 2,
         {.device = Device::cuda}, {31, 11, 7});
  test::expect_batches_to_be_one_by_one(p.gpu, p.x);
  p.gpu.set_points(0, random_points(2, 31, 41));
  test::expect_batches_to_be_one_by_one(p.gpu, p.x);
  p.gpu.set_points(1, random_points(2, 13, 42));
  p.gpu.set_term_weight(2, 3);
  p.gpu.set_point_weights(0, std::vector<double>(31, 0.7));
  test::expect_batches_to_be_one_by_one(p.gpu, p.x);
  p.gpu.set_frozen(std::vector<double>(p.gpu.frozen().size(), 0.2));
  test::expect_batches_to_be_one_by_one(p.gpu, p.x);
}

}  // namespace
}  // namespace lather::pde
