#include "lather/linalg/block_cholesky.hpp"

#include <gtest/gtest.h>

#include "lather/core/rng.hpp"
#include "lather/core/threads.hpp"
#include "lather/linalg/gauss_rule.hpp"
#include "lather/linalg/orthonormal_columns.hpp"

namespace lather::linalg {
namespace {

TEST(BlockCholesky, SolvesWhatTheDenseMatrixWould) {
  // A cycle of five blocks and a chord.
  const std::vector<std::size_t> sizes{3, 1, 4, 2, 5};
  const std::vector<std::pair<std::size_t, std::size_t>> pairs{{0, 1}, {1, 2}, {3, 2},
                                                               {3, 4}, {0, 4}, {0, 2}};
  const Random random(1, 2);
  std::vector<std::vector<double>> values;
  std::vector<BlockCholesky::Block> blocks;
  std::uint64_t next = 0;
  for (const auto& [a, b] : pairs) {
    values.emplace_back(sizes[a] * sizes[b]);
    for (double& v : values.back()) v = random.uniform(next++, -0.1, 0.1);
  }
  for (std::size_t k = 0; k < pairs.size(); ++k)
    blocks.push_back(
        {pairs[k].first, pairs[k].second, {values[k].data(), sizes[pairs[k].first], sizes[pairs[k].second]}});
  ThreadTeam team(2);
  BlockCholesky factor(sizes, pairs);
  ASSERT_TRUE(factor.factor(blocks, 0.5, team));
  std::vector<double> x(factor.size()), b(factor.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = random.uniform(next++, -1, 1);
  std::vector<std::size_t> begin{0};
  for (const std::size_t s : sizes) begin.push_back(begin.back() + s);
  for (std::size_t i = 0; i < x.size(); ++i) b[i] = 1.5 * x[i];
  for (const auto& [row, column, block] : blocks)
    for (std::size_t i = 0; i < block.rows; ++i)
      for (std::size_t j = 0; j < block.cols; ++j) {
        b[begin[row] + i] += block(i, j) * x[begin[column] + j];
        b[begin[column] + j] += block(i, j) * x[begin[row] + i];
      }
  factor.solve(b);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(b[i], x[i], 1e-14);
}

TEST(BlockCholesky, NoticesAMatrixThatIsNotPositiveDefinite) {
  const std::vector<double> two{2};
  ThreadTeam team(1);
  const std::vector<std::pair<std::size_t, std::size_t>> pairs{{0, 1}};
  BlockCholesky factor({1, 1}, pairs);
  const std::vector<BlockCholesky::Block> blocks{{0, 1, {two.data(), 1, 1}}};
  EXPECT_FALSE(factor.factor(blocks, 0, team));
}

TEST(BlockCholesky, EliminatesTheEndsOfAChainBeforeAHub) {
  const std::vector<std::size_t> sizes{1, 1, 1, 1};
  const std::vector<std::pair<std::size_t, std::size_t>> star{{0, 1}, {0, 2}, {0, 3}};
  EXPECT_NE(elimination_order(sizes, star).front(), 0u);
}

TEST(OrthonormalColumns, LeavesOutWhatIsNotThere) {
  // Columns 1, t and 3 + 2 t at five points.
  std::vector<double> b;
  for (int i = 0; i < 5; ++i) b.insert(b.end(), {1.0, double(i), 3.0 + 2.0 * i});
  std::vector<double> scratch = b;
  TallQr qr;
  const auto [rank, W] = orthonormal_columns({scratch.data(), 5, 3}, 1e-9, qr);
  ASSERT_EQ(rank, 2u);
  double products[2][2] = {};
  for (int i = 0; i < 5; ++i) {
    double q[2] = {};
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k) q[k] += b[3 * i + j] * W[2 * j + k];
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) products[j][k] += q[j] * q[k];
  }
  EXPECT_NEAR(products[0][0], 1, 1e-13);
  EXPECT_NEAR(products[1][1], 1, 1e-13);
  EXPECT_NEAR(products[0][1], 0, 1e-13);
}

TEST(GaussRule, IsExactForPolynomials) {
  const auto rule = gauss_rule(5);
  double sum = 0;
  for (std::size_t i = 0; i < rule.nodes.size(); ++i) sum += rule.weights[i] * std::pow(rule.nodes[i], 8);
  EXPECT_NEAR(sum, 2.0 / 9, 1e-15);
}

}  // namespace
}  // namespace lather::linalg
