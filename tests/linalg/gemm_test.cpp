#include "lather/linalg/gemm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/linalg/gemm_plain.hpp"

namespace lather::linalg {
namespace {

constexpr double kGuard = -12345;

template <class T>
std::vector<T> random_values(std::size_t size, std::uint64_t stream) {
  std::vector<T> v(size);
  const Random random(11, stream);
  for (std::size_t i = 0; i < size; ++i) v[i] = static_cast<T>(random.uniform(i, -1, 1));
  return v;
}

// A matrix of n columns in rows of ld elements between guards. `padding` fills columns n .. ld - 1.
template <class T>
struct Guarded {
  std::size_t rows, n, ld;
  std::vector<T> memory;
  static constexpr std::size_t margin = 64;

  Guarded(std::size_t rows, std::size_t n, std::size_t ld, std::uint64_t stream, T padding)
      : rows(rows), n(n), ld(ld), memory(rows * ld + 2 * margin, T(kGuard)) {
    const auto values = random_values<T>(rows * n, stream);
    for (std::size_t i = 0; i < rows; ++i) {
      std::copy_n(values.data() + i * n, n, data() + i * ld);
      std::fill(data() + i * ld + n, data() + (i + 1) * ld, padding);
    }
  }
  T* data() { return memory.data() + margin; }
  T at(std::size_t i, std::size_t j) { return data()[i * ld + j]; }
  void expect_guards_untouched() {
    for (std::size_t i = 0; i < margin; ++i) {
      ASSERT_EQ(memory[i], T(kGuard));
      ASSERT_EQ(memory[memory.size() - 1 - i], T(kGuard));
    }
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = padded_columns<T>(n); j < ld; ++j)
        ASSERT_EQ(at(i, j), T(kGuard)) << "beyond the padding";
  }
};

// Both versions add the same terms of size <= 1 in the same order; they differ if one of them fuses multiply
// and add.
template <class T>
double tolerance(std::size_t terms) {
  return static_cast<double>(terms + 2) * std::numeric_limits<T>::epsilon() *
         std::sqrt(static_cast<double>(terms + 2));
}

struct Shape {
  std::size_t rows, k, n;
};

std::vector<Shape> shapes() {
  std::vector<Shape> list = {{96, 128, 128}, {48, 256, 256}, {192, 64, 64}, {100, 300, 33},
                             {97, 2, 128},   {200, 128, 1},  {1, 1, 1},     {5, 520, 17},
                             {0, 3, 4},      {4, 3, 0},      {4, 0, 5},     {300, 7, 3}};
  const Random random(2, 9);
  const auto draw = [&](std::size_t i) { return 1 + random.bits(i) % 70; };
  for (std::size_t i = 0; i < 150; ++i) list.push_back({draw(3 * i), draw(3 * i + 1), draw(3 * i + 2)});
  return list;
}

template <class T>
class Products : public ::testing::Test {};
using Types = ::testing::Types<double, float>;
TYPED_TEST_SUITE(Products, Types);

// Row-major double matrix and what packing makes of it in T.
template <class T>
struct Weights {
  std::vector<double> source;
  std::vector<T> converted;
  PackedMatrix<T> packed;
  Weights(std::size_t k, std::size_t n, bool transpose)
      : source(random_values<double>(k * n, 1)), converted(k * n) {
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t j = 0; j < n; ++j)
        converted[p * n + j] = static_cast<T>(transpose ? source[j * k + p] : source[p * n + j]);
    packed.pack(source.data(), transpose ? n : k, transpose ? k : n, transpose);
  }
};

TYPED_TEST(Products, MultiplyEqualsThePlainLoopsOnEveryShape) {
  using T = TypeParam;
  std::size_t variant = 0;
  for (const auto [rows, k, n] : shapes()) {
    for (const bool accumulate : {false, true}) {
      ++variant;
      const std::size_t ldz = padded_columns<T>(n) + variant % 3, lda = k + variant % 2;
      Weights<T> W(k, n, variant % 4 < 2);
      Guarded<T> A(rows, k, lda, 2, std::numeric_limits<T>::quiet_NaN());
      Guarded<T> Z(rows, n, ldz, 3, T(kGuard));
      const auto bias = random_values<T>(n, 4);
      const std::size_t bias_rows = variant % 5 == 0 ? 0 : (rows + 1) / 2;
      const T* bias_or_null = variant % 5 == 1 ? nullptr : bias.data();

      auto expected = Z;
      plain::multiply(rows, A.data(), lda, W.converted.data(), k, n, expected.data(), ldz, bias_or_null,
                      bias_rows, accumulate);
      multiply(rows, A.data(), lda, W.packed, Z.data(), ldz, bias_or_null, bias_rows, accumulate);
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < n; ++j)
          ASSERT_NEAR(Z.at(i, j), expected.at(i, j), tolerance<T>(k))
              << rows << "x" << k << "x" << n << " at " << i << "," << j;
        for (std::size_t j = n; j < padded_columns<T>(n); ++j)
          ASSERT_EQ(Z.at(i, j), accumulate ? T(kGuard) : T(0));
      }
      ASSERT_NO_FATAL_FAILURE(Z.expect_guards_untouched());
    }
  }
}

TYPED_TEST(Products, AddOuterEqualsThePlainLoopsOnEveryShapeAndIgnoresTheFactorsPadding) {
  using T = TypeParam;
  std::size_t variant = 0;
  for (const auto [rows, k, n] : shapes()) {
    ++variant;
    const std::size_t ldg = padded_columns<T>(n) + variant % 3, lda = k + variant % 2,
                      ldw = padded_width<T>(n);
    Guarded<T> A(rows, k, lda, 2, std::numeric_limits<T>::quiet_NaN());
    Guarded<T> G(rows, n, ldg, 3, std::numeric_limits<T>::quiet_NaN());
    Guarded<T> W(k, n, ldw, 4, T(kGuard));
    auto expected = W;
    plain::add_outer(rows, A.data(), lda, k, G.data(), ldg, n, expected.data(), ldw);
    add_outer(rows, A.data(), lda, k, G.data(), ldg, n, W.data(), ldw);
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t j = 0; j < n; ++j)
        ASSERT_NEAR(W.at(p, j), expected.at(p, j), tolerance<T>(rows))
            << rows << "x" << k << "x" << n << " at " << p << "," << j;
    ASSERT_NO_FATAL_FAILURE(W.expect_guards_untouched());
  }
}

TYPED_TEST(Products, AddColumnSumsEqualsThePlainLoopsAndStaysInsideItsOutput) {
  using T = TypeParam;
  for (const auto [rows, k, n] : shapes()) {
    Guarded<T> G(rows, n, padded_columns<T>(n), 3, std::numeric_limits<T>::quiet_NaN());
    std::vector<T> b = random_values<T>(n, 5);
    auto expected = b;
    b.push_back(T(kGuard));
    plain::add_column_sums(rows, G.data(), G.ld, n, expected.data());
    add_column_sums(rows, G.data(), G.ld, n, b.data());
    for (std::size_t j = 0; j < n; ++j) ASSERT_EQ(b[j], expected[j]);
    ASSERT_EQ(b[n], T(kGuard));
  }
}

TYPED_TEST(Products, ARowOfMultiplyHasTheSameBitsHoweverTheRowsAreSplit) {
  using T = TypeParam;
  for (const auto [rows, k, n] : {Shape{97, 128, 128}, Shape{61, 33, 7}, Shape{50, 520, 40}}) {
    const std::size_t ldz = padded_width<T>(n), bias_rows = 20;
    Weights<T> W(k, n, false);
    const auto A = random_values<T>(rows * k, 2), bias = random_values<T>(n, 4);
    std::vector<T> whole(rows * ldz), parts(rows * ldz);
    multiply(rows, A.data(), k, W.packed, whole.data(), ldz, bias.data(), bias_rows, false);
    for (const std::size_t step : {1, 2, 5, 11, 13, 25}) {
      for (std::size_t i = 0; i < rows; i += step)
        multiply(std::min(step, rows - i), &A[i * k], k, W.packed, &parts[i * ldz], ldz, bias.data(),
                 bias_rows - std::min(i, bias_rows), false);
      EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(T)), 0)
          << "in steps of " << step;
    }
  }
}

TYPED_TEST(Products, SumsOverRowsHaveTheSameBitsHoweverTheRowsAreSplit) {
  using T = TypeParam;
  for (const auto [rows, k, n] : {Shape{203, 65, 40}, Shape{96, 128, 128}}) {
    const std::size_t ld = padded_width<T>(n);
    const auto A = random_values<T>(rows * k, 2), G = random_values<T>(rows * ld, 3);
    std::vector<T> whole(k * ld), b_whole(n);
    add_outer(rows, A.data(), k, k, G.data(), ld, n, whole.data(), ld);
    add_column_sums(rows, G.data(), ld, n, b_whole.data());
    for (const std::size_t step : {1, 7, 50}) {
      std::vector<T> parts(k * ld), b_parts(n);
      for (std::size_t i = 0; i < rows; i += step) {
        add_outer(std::min(step, rows - i), &A[i * k], k, k, &G[i * ld], ld, n, parts.data(), ld);
        add_column_sums(std::min(step, rows - i), &G[i * ld], ld, n, b_parts.data());
      }
      EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(T)), 0)
          << "in steps of " << step;
      EXPECT_EQ(b_whole, b_parts);
    }
  }
}

// 64 terms of 1/16 ulp of 1: added one by one to 1, each is lost; summed separately, they are 4 ulp.
TYPED_TEST(Products, SumsApartKeepWhatAChainLoses) {
  using T = TypeParam;
  constexpr std::size_t kTerms = 64, kRows = 13, kColumns = 20;
  const T last = std::numeric_limits<T>::epsilon();
  const std::size_t ld = padded_columns<T>(kColumns);
  PackedMatrix<T> packed;
  packed.pack(std::vector<double>(kTerms * kColumns, static_cast<double>(last) / 16).data(), kTerms, kColumns,
              false);
  const std::vector<T> ones(kTerms * kRows, T(1)), small(kTerms * ld, last / 16);
  for (const Sums sums : {Sums::in_chain, Sums::apart}) {
    const T expected = sums == Sums::apart ? 1 + 4 * last : T(1);
    std::vector<T> Z(kRows * ld, T(1)), W(kRows * ld, T(1));
    multiply<T>(kRows, ones.data(), kTerms, packed, Z.data(), ld, nullptr, 0, true, sums);
    add_outer<T>(kTerms, ones.data(), kRows, kRows, small.data(), ld, kColumns, W.data(), ld, sums);
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kColumns; ++j) {
        EXPECT_EQ(Z[i * ld + j], expected);
        EXPECT_EQ(W[i * ld + j], expected);
      }
  }
}

TYPED_TEST(Products, PackingAgainKeepsTheMemoryAndReplacesTheValues) {
  using T = TypeParam;
  const std::vector<double> first = {1, 2, 3, 4, 5, 6}, second = {10, 20, 30, 40, 50, 60};
  PackedMatrix<T> W;
  W.pack(first.data(), 2, 3, false);
  const T* memory = W.data();
  W.pack(second.data(), 2, 3, false);
  EXPECT_EQ(W.data(), memory);
  W.pack(second.data(), 3, 2, true);
  EXPECT_EQ(W.data(), memory);
  EXPECT_EQ(W.rows(), 2u);
  EXPECT_EQ(W.cols(), 3u);
  const T A[] = {1, 1};
  std::vector<T> Z(padded_columns<T>(3));
  multiply<T>(1, A, 2, W, Z.data(), Z.size(), nullptr, 0, false);
  EXPECT_EQ(Z[0], 30);  // transpose of (10 20; 30 40; 50 60)
  EXPECT_EQ(Z[1], 70);
  EXPECT_EQ(Z[2], 110);
}

TYPED_TEST(Products, PaddedWidthHoldsTheColumnsAndAvoidsRowsThatShareCacheSets) {
  using T = TypeParam;
  for (std::size_t n = 1; n < 600; ++n) {
    EXPECT_GE(padded_width<T>(n), padded_columns<T>(n));
    EXPECT_GE(padded_columns<T>(n), n);
    EXPECT_NE(padded_width<T>(n) * sizeof(T) % 512, 0u);
  }
}

}  // namespace
}  // namespace lather::linalg
