#include "lather/linalg/tall_qr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/core/threads.hpp"

namespace lather::linalg {
namespace {

std::vector<double> random_rows(std::size_t rows, std::size_t columns) {
  std::vector<double> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = Random(5, rows).normal(i);
  return values;
}

TEST(TallQr, HasTheProductsOfItsRowsWhateverTheChunks) {
  constexpr std::size_t kRows = 230, kColumns = 150;  // several panels, and several parts of an update
  const auto A = random_rows(kRows, kColumns);
  for (const std::size_t chunk : {7u, 100u, 230u}) {
    TallQr qr;
    qr.reset(kColumns);
    for (std::size_t first = 0; first < kRows; first += chunk) {
      const std::size_t count = std::min(chunk, kRows - first);
      std::vector<double> rows(A.begin() + first * kColumns, A.begin() + (first + count) * kColumns);
      qr.add_rows({rows.data(), count, kColumns});
    }
    for (std::size_t i = 0; i < kColumns; ++i)
      for (std::size_t j = i; j < kColumns; ++j) {
        double product = 0, expected = 0;
        for (std::size_t k = 0; k <= i; ++k) product += qr.R()(k, i) * qr.R()(k, j);
        for (std::size_t k = 0; k < kRows; ++k) expected += A[k * kColumns + i] * A[k * kColumns + j];
        ASSERT_NEAR(product, expected, 1e-11) << chunk << ": " << i << ", " << j;
      }
  }
}

TEST(TallQr, HasTheSameBitsWithAnyNumberOfThreads) {
  constexpr std::size_t kRows = 64, kColumns = 333;
  std::vector<double> results[2];
  for (int t : {0, 1}) {
    ThreadTeam team(t == 0 ? 1 : 3);
    TallQr qr;
    qr.reset(kColumns);
    for (int chunk = 0; chunk < 3; ++chunk) {
      auto rows = random_rows(kRows, kColumns);
      qr.add_rows({rows.data(), kRows, kColumns}, 0, &team);
    }
    results[t].assign(qr.R().data, qr.R().data + kColumns * kColumns);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(TallQr, SolvesWithItsTriangle) {
  // R = (2 1; 0 4): R x = (4, 8) has x = (1, 2), R^T x = (4, 8) has x = (2, 1.5).
  const std::vector<double> R{2, 1, 0, 4};
  std::vector<double> b{4, 8}, c{4, 8};
  solve_upper({R.data(), 2, 2}, b);
  solve_upper_transposed({R.data(), 2, 2}, c);
  EXPECT_EQ(b, std::vector<double>({1, 2}));
  EXPECT_EQ(c, std::vector<double>({2, 1.5}));
}

}  // namespace
}  // namespace lather::linalg
