#include "lather/parallel/shards.hpp"

#include <gtest/gtest.h>

#include "lather/core/rng.hpp"
#include "parallel/thread_ranks.hpp"

namespace lather::parallel {
namespace {

TEST(Shards, TheTreeAddsNeighboursFirstThenPairsOfPairs) {
  std::vector<std::string> at{"0", "1", "2", "3", "4", "5", "6"};
  add_along_tree(7, 0, 7, [&](std::size_t a, std::size_t b) { at[a] = "(" + at[a] + "+" + at[b] + ")"; });
  EXPECT_EQ(at[0], "(((0+1)+(2+3))+((4+5)+6))");
}

TEST(Shards, ARankKeepsThePiecesTheTreeDoesNotAddWithinIt) {
  EXPECT_EQ(piece_heads(16, 0, 4), (std::vector<std::size_t>{0}));
  EXPECT_EQ(piece_heads(16, 5, 10), (std::vector<std::size_t>{5, 6, 8}));
  EXPECT_EQ(piece_heads(7, 4, 7), (std::vector<std::size_t>{4}));
  EXPECT_TRUE(piece_heads(7, 3, 3).empty());
}

// Numbers of all sizes, so that a different order gives different bits.
std::vector<double> numbers_of(std::size_t shard, std::size_t size) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < size; ++i)
    numbers.push_back(Random(3, shard).normal(i) * std::pow(10.0, Random(4, shard).normal(i) * 3));
  return numbers;
}

TEST(Shards, SumsHaveTheSameBitsOnAnyNumberOfRanks) {
  constexpr std::size_t kSize = 37;
  for (const std::size_t shards : {1u, 5u, 16u}) {
    std::vector<std::vector<double>> expected;
    for (std::size_t s = 0; s < shards; ++s) expected.push_back(numbers_of(s, kSize));
    add_along_tree(shards, 0, shards, [&](std::size_t a, std::size_t b) {
      for (std::size_t i = 0; i < kSize; ++i) expected[a][i] += expected[b][i];
    });
    for (const int ranks : {1, 2, 3, 4, 8})
      testing::on_ranks(ranks, [&](Communicator& communicator) {
        const ShardPlan plan(shards, ranks);
        const auto [first, last] = plan.of(communicator.rank());
        std::vector<std::vector<double>> own(shards);
        for (std::size_t s = first; s < last; ++s) own[s] = numbers_of(s, kSize);
        add_along_tree(shards, first, last, [&](std::size_t a, std::size_t b) {
          for (std::size_t i = 0; i < kSize; ++i) own[a][i] += own[b][i];
        });
        PieceSum<double> sum;
        const auto total =
            sum.sum(communicator, plan, kSize,
                    [&](std::size_t piece, std::size_t begin, std::size_t count, double* to) {
                      std::copy_n(&own[plan.heads(communicator.rank())[piece]][begin], count, to);
                    });
        EXPECT_TRUE(std::equal(total.begin(), total.end(), expected[0].begin(), expected[0].end()))
            << shards << " shards, " << ranks << " ranks";
      });
  }
}

TEST(Communicator, GathersAndBroadcasts) {
  testing::on_ranks(3, [](Communicator& ranks) {
    EXPECT_EQ(ranks.all_of(10 * ranks.rank()), (std::vector<int>{0, 10, 20}));
    std::string text = ranks.rank() == 0 ? "from the first" : "";
    ranks.broadcast(text);
    EXPECT_EQ(text, "from the first");
    std::vector<double> parts(4);
    const std::vector<std::size_t> bounds{0, 1, 1, 4};
    for (std::size_t i = bounds[ranks.rank()]; i < bounds[ranks.rank() + 1]; ++i)
      parts[i] = 1.0 + ranks.rank();
    ranks.gather(std::span(parts), bounds);
    EXPECT_EQ(parts, (std::vector<double>{1, 3, 3, 3}));
  });
}

}  // namespace
}  // namespace lather::parallel
