#include "lather/linalg/eigensolver.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/linalg/products.hpp"

namespace lather::linalg {
namespace {

std::vector<double> random_values(std::size_t size, std::uint64_t seed) {
  const Random random(seed, 3);
  std::vector<double> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = random.normal(i);
  return x;
}

// Q diag(values) Q^T for a random orthogonal Q.
std::vector<double> symmetric(const std::vector<double>& values, std::uint64_t seed, std::vector<double>& Q) {
  const std::size_t d = values.size();
  Q.resize(d * d);
  const auto raw = random_values(d * d, seed);
  orthonormal_factor(view(std::span(raw), d, d), view(std::span(Q), d, d));
  auto scaled = Q;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) scaled[i * d + j] *= values[j];
  std::vector<double> A(d * d);
  multiply_right_transposed(view(std::span(A), d, d), view(std::span(scaled), d, d),
                            view(std::span(Q), d, d));
  return A;
}

TEST(Eigenvectors, DiagonalizeInDescendingOrder) {
  for (const std::size_t d : {1, 2, 5, 30, 128}) {
    const auto F = random_values(d * d, d);
    std::vector<double> A(d * d), values(d), X(d * d), AX(d * d), B(d * d);
    accumulate_rows(view(std::span(A), d, d), 0, 1, view(std::span(F), d, d));
    const auto x = view(std::span(X), d, d);
    ASSERT_TRUE(eigenvectors(view(std::span(A), d, d), values, x));
    make_canonical(values, x);
    multiply(view(std::span(AX), d, d), view(std::span(A), d, d), x);
    multiply_left_transposed(view(std::span(B), d, d), x, view(std::span(AX), d, d));
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j)
        EXPECT_NEAR(B[i * d + j], i == j ? values[i] : 0, 1e-13 * values[0]) << d;
    for (std::size_t i = 1; i < d; ++i) EXPECT_GE(values[i - 1], values[i]);
    for (std::size_t j = 0; j < d; ++j) {
      double extreme = 0;
      for (std::size_t i = 0; i < d; ++i)
        if (std::abs(x(i, j)) > std::abs(extreme)) extreme = x(i, j);
      EXPECT_GT(extreme, 0);
    }
  }
}

TEST(Eigenvectors, AreUniqueInsideADegenerateSpaceToo) {
  // Values 5, 2, 2, 2, 0, 0: the columns that belong to 2 and to 0 are rotated; the canonical basis is the
  // same.
  const std::vector<double> values = {5, 2, 2, 2, 0, 0};
  std::vector<double> Q;
  symmetric(values, 4, Q);
  auto turned = Q;
  const std::size_t d = 6;
  const auto rotate = [&](std::size_t a, std::size_t b, double angle) {
    for (std::size_t i = 0; i < d; ++i) {
      const double p = turned[i * d + a], q = turned[i * d + b];
      turned[i * d + a] = std::cos(angle) * p + std::sin(angle) * q;
      turned[i * d + b] = std::cos(angle) * q - std::sin(angle) * p;
    }
  };
  rotate(1, 2, 0.7);
  rotate(2, 3, 2.1);
  rotate(4, 5, -1.3);
  for (std::size_t i = 0; i < d; ++i) turned[i * d] *= -1;
  make_canonical(values, view(std::span(Q), d, d));
  make_canonical(values, view(std::span(turned), d, d));
  for (std::size_t i = 0; i < d * d; ++i) EXPECT_NEAR(Q[i], turned[i], 1e-14);
}

TEST(Eigenvectors, OfANonFiniteMatrixAreRefused) {
  std::vector<double> A = {1, 0, 0, std::nan("")}, values(2), X(4);
  EXPECT_FALSE(eigenvectors(view(std::span(A), 2, 2), values, view(std::span(X), 2, 2)));
  A[3] = HUGE_VAL;
  EXPECT_FALSE(eigenvectors(view(std::span(A), 2, 2), values, view(std::span(X), 2, 2)));
}

TEST(Orthonormality, IsRestoredByOneNewtonSchulzStep) {
  const std::size_t d = 20;
  std::vector<double> Q, scratch(2 * d * d), gram(d * d);
  symmetric(std::vector<double>(d, 1.0), 9, Q);
  const auto noise = random_values(d * d, 2);
  for (std::size_t i = 0; i < d * d; ++i) Q[i] += 1e-9 * noise[i];
  reorthonormalize(view(std::span(Q), d, d), scratch);
  multiply_left_transposed(view(std::span(gram), d, d), view(std::span(Q), d, d), view(std::span(Q), d, d));
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(gram[i * d + j], i == j, 1e-14);
}

TEST(Products, AreCountedAndRight) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 1, 0, 3};  // 2 × 3 and 3 × 2
  std::vector<double> out(4), wide(9);
  const auto before = work_count();
  multiply(view(std::span(out), 2, 2), view(std::span(a), 2, 3), view(std::span(b), 3, 2));
  EXPECT_EQ(out, (std::vector<double>{5, 11, 14, 23}));
  multiply_left_transposed(view(std::span(wide), 3, 3), view(std::span(a), 2, 3), view(std::span(a), 2, 3));
  EXPECT_EQ(wide, (std::vector<double>{17, 22, 27, 22, 29, 36, 27, 36, 45}));
  multiply_right_transposed(view(std::span(out), 2, 2), view(std::span(a), 2, 3), view(std::span(a), 2, 3));
  EXPECT_EQ(out, (std::vector<double>{14, 32, 32, 77}));
  accumulate_cols(view(std::span(wide), 3, 3), 2, 1, view(std::span(a), 2, 3));
  EXPECT_EQ(wide, (std::vector<double>{51, 66, 81, 66, 87, 108, 81, 108, 135}));
  accumulate_rows(view(std::span(out), 2, 2), 0.5, 2, view(std::span(a), 2, 3));
  EXPECT_EQ(out, (std::vector<double>{35, 80, 80, 192.5}));
  EXPECT_EQ(work_count().products - before.products, 5);
  EXPECT_EQ(work_count().multiplications - before.multiplications, 12 + 18 + 12 + 18 + 12);
}

}  // namespace
}  // namespace lather::linalg
