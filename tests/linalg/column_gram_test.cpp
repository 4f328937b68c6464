#include "lather/linalg/column_gram.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "lather/core/rng.hpp"

namespace lather::linalg {
namespace {

std::vector<double> random_values(std::size_t size) {
  const Random random(7, 3);
  std::vector<double> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = random.normal(i);
  return x;
}

// J^T J, row-major, lower triangle, of J (rows × columns).
std::vector<double> gram_of(const std::vector<double>& J, std::size_t columns, int threads,
                            ColumnGram& gram) {
  ThreadTeam team(threads);
  const std::size_t rows = J.size() / columns;
  gram.reset(columns);
  for (std::size_t begin = 0; begin < rows; begin += ColumnGram::kChunkRows) {
    const std::size_t count = std::min(ColumnGram::kChunkRows, rows - begin);
    // In two parts that meet inside a panel.
    const std::size_t first = columns / 3;
    for (std::size_t i = 0; i < count; ++i) {
      const double* row = &J[(begin + i) * columns];
      gram.write(i, 0, row, first);
      gram.write(i, first, row + first, columns - first);
    }
    gram.add_chunk(count, team);
  }
  std::vector<double> result(columns * columns);
  gram.copy_lower(columns, result.data(), team);
  return result;
}

class GramOfColumns : public testing::TestWithParam<std::pair<std::size_t, std::size_t>> {};

TEST_P(GramOfColumns, IsTheSumOfProductsOfRows) {
  const auto [rows, columns] = GetParam();
  const auto J = random_values(rows * columns);
  ColumnGram gram;
  gram_of(random_values(300 * columns), columns, 1, gram);  // what an earlier use leaves must not matter
  const auto S = gram_of(J, columns, 2, gram);
  for (std::size_t i = 0; i < columns; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < rows && j <= i; ++p) sum += J[p * columns + i] * J[p * columns + j];
      ASSERT_NEAR(S[i * columns + j], sum, 1e-14 * static_cast<double>(rows)) << i << " " << j;
      if (j <= i) {
        ASSERT_EQ(S[i * columns + j], gram(i, j));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, GramOfColumns,
                         testing::Values(std::pair{1, 1}, std::pair{5, 47}, std::pair{256, 48},
                                         std::pair{257, 49}, std::pair{700, 193}, std::pair{513, 250}));

TEST(GramOfColumns, HasTheSameBitsForAnyNumberOfThreads) {
  const auto J = random_values(600 * 301);
  ColumnGram gram;
  EXPECT_EQ(gram_of(J, 301, 1, gram), gram_of(J, 301, 3, gram));
}

}  // namespace
}  // namespace lather::linalg
