// Everything an objective computes has the same bits on any number of ranks and threads, and rank 0 computes
// it alone if another rank is lost.
#include <gtest/gtest.h>

#include "parallel/everything.hpp"
#include "parallel/thread_ranks.hpp"

namespace lather::pde {
namespace {

using namespace test;

// On the host.
std::vector<double> everything_with(int threads, int shards, parallel::Communicator* ranks,
                                    bool factorized = false, Precision precision = Precision::float64) {
  return everything(two_sets(factorized),  // built each time: expressions belong to one thread
                    {.threads = threads, .shards = shards, .ranks = ranks, .precision = precision});
}

class OnRanks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, OnRanks, ::testing::Values(1, 2, 3, 4, 8));

TEST_P(OnRanks, AnObjectiveHasTheBitsOfOneProcess) {
  for (const bool factorized : {false, true}) {
    const int shards = 6 + 10 * factorized;
    const auto expected = everything_with(1, shards, nullptr, factorized);
    testing::on_ranks(GetParam(), [&](parallel::Communicator& ranks) {
      EXPECT_TRUE(same_bits(everything_with(1 + ranks.rank() % 2, shards, &ranks, factorized), expected));
    });
  }
}

TEST(OnThreeRanks, SinglePrecisionHasTheBitsOfOneProcess) {
  const auto expected = everything_with(2, 5, nullptr, false, Precision::float32);
  testing::on_ranks(3, [&](parallel::Communicator& ranks) {
    EXPECT_TRUE(same_bits(everything_with(1, 5, &ranks, false, Precision::float32), expected));
  });
}

TEST(OnThreeRanks, ShardsInOneProcessAreThoseOfAsManyThreads) {
  EXPECT_TRUE(same_bits(everything_with(3, 0, nullptr), everything_with(1, 3, nullptr)));
}

// Whatever was in progress when a rank was lost is recomputed by rank 0, with the same result.
TEST(OnThreeRanks, TheFirstGoesOnAloneWhenAnotherIsLost) {
  const auto expected = everything_with(1, 6, nullptr);
  long exchanges = 0;
  testing::on_ranks(3, [&](parallel::Communicator& ranks) {
    everything_with(1, 6, &ranks);
    if (ranks.rank() == 0) exchanges = ranks.exchanges();
  });
  ASSERT_GT(exchanges, 20);
  for (long after = 1; after < exchanges; after += 3)
    testing::on_ranks(
        3,
        [&](parallel::Communicator& ranks) {
          const auto found = everything_with(1, 6, &ranks);
          EXPECT_EQ(ranks.rank(), 0);
          EXPECT_EQ(ranks.lost_rank(), 2);
          EXPECT_TRUE(same_bits(found, expected)) << "lost after " << after << " exchanges";
        },
        2, after);
}

}  // namespace
}  // namespace lather::pde
