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
  constexpr std::size_t kRows = 230, kColumns = 150;  // several panels and several parts of an update
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
      qr.add_rows({rows.data(), kRows, kColumns}, &team);
      qr.add_diagonal(std::vector<double>(kColumns, 0.1), &team);
    }
    results[t].assign(qr.R().data, qr.R().data + kColumns * kColumns);
  }
  EXPECT_EQ(results[0], results[1]);
}

// Diagonals are rotated 512 rows at a time, each only into what it can reach.
TEST(TallQr, AddsADiagonalAsItsRows) {
  constexpr std::size_t kRows = 40, kColumns = 601, kDiagonal = 590;
  auto rows = random_rows(kRows, kColumns);
  for (std::size_t i = 0; i < kRows; ++i) rows[i * kColumns + 70] = 0;  // only the diagonal there
  std::vector<double> diagonal(kDiagonal), as_rows(kDiagonal * kColumns);
  for (std::size_t i = 0; i < kDiagonal; ++i)
    as_rows[i * kColumns + i] = diagonal[i] = i % 50 == 3 ? 0 : 0.5 + 0.01 * static_cast<double>(i);
  TallQr qr, plain;
  for (TallQr* each : {&qr, &plain}) {
    each->reset(kColumns);
    each->add_rows({rows.data(), kRows, kColumns});
  }
  qr.add_diagonal(diagonal);
  plain.add_rows({as_rows.data(), kDiagonal, kColumns});
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < kColumns; ++i)  // rows of R are unique up to sign
    for (std::size_t j = i; j < kColumns; ++j) {
      largest = std::max(largest, std::abs(plain.R()(i, j)));
      const double apart = std::abs(std::abs(qr.R()(i, j)) - std::abs(plain.R()(i, j)));
      worst = apart <= worst ? worst : apart;  // a NaN stays
    }
  EXPECT_GT(largest, 1);
  EXPECT_LT(worst, 1e-12 * largest);
}

TEST(TallQr, KeepsDigitsOfSmallColumnsBesideLargeOnes) {
  constexpr std::size_t kRows = 90, kColumns = 40;
  auto rows = random_rows(kRows, kColumns);
  const auto scale = [](std::size_t j) { return std::pow(10.0, 6.0 * static_cast<double>(j % 9) - 24); };
  auto scaled = rows;
  for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i] *= scale(i % kColumns);
  TallQr qr, of_scaled;
  qr.reset(kColumns);
  of_scaled.reset(kColumns);
  qr.add_rows({rows.data(), kRows, kColumns});
  of_scaled.add_rows({scaled.data(), kRows, kColumns});
  for (std::size_t i = 0; i < kColumns; ++i)
    for (std::size_t j = i; j < kColumns; ++j)
      EXPECT_NEAR(of_scaled.R()(i, j) / scale(j), qr.R()(i, j), 1e-12 * 30) << i << ", " << j;
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
