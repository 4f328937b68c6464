#include "lather/linalg/factorizations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/core/threads.hpp"

namespace lather::linalg {
namespace {

// B B^T + shift I; the upper triangle is NaN, since it must not be read.
std::vector<double> lower_triangle(std::size_t n, double shift) {
  const Random random(11, 2);
  std::vector<double> B(n * 20), A(n * n, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < B.size(); ++i) B[i] = random.normal(i);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = i == j ? shift : 0;
      for (std::size_t k = 0; k < 20; ++k) sum += B[i * 20 + k] * B[j * 20 + k];
      A[i * n + j] = sum;
    }
  return A;
}

TEST(CholeskyOnThreads, EqualsThePlainOne) {
  for (const std::size_t n : {1u, 100u, 193u, 384u, 421u}) {
    auto plain = lower_triangle(n, 0.5), fast = plain;
    ThreadTeam team(2);
    ASSERT_TRUE(cholesky({plain.data(), n, n}));
    ASSERT_TRUE(cholesky({fast.data(), n, n}, &team));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        ASSERT_NEAR(fast[i * n + j], plain[i * n + j], 1e-11) << n << " " << i << " " << j;
  }
}

TEST(CholeskyOnThreads, HasTheSameBitsForAnyNumberOfThreads) {
  const std::size_t n = 500;
  auto one = lower_triangle(n, 0.5), three = one;
  ThreadTeam team_of_one(1), team_of_three(3);
  ASSERT_TRUE(cholesky({one.data(), n, n}, &team_of_one));
  ASSERT_TRUE(cholesky({three.data(), n, n}, &team_of_three));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) ASSERT_EQ(one[i * n + j], three[i * n + j]);
}

TEST(CholeskyOnThreads, SaysThatAMatrixIsIndefiniteOrNotFiniteWhereverThatShows) {
  const std::size_t n = 400;
  ThreadTeam team(2);
  for (const std::size_t at : {0u, 150u, 399u})
    for (const double pivot : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
      auto A = lower_triangle(n, 0.5);
      A[at * (n + 1)] = pivot;
      EXPECT_FALSE(cholesky({A.data(), n, n}, &team)) << at << " " << pivot;
    }
}

// Callers keep the matrix there.
TEST(CholeskyOnThreads, LeavesWhatLiesAboveTheDiagonalAlone) {
  const std::size_t n = 300;
  ThreadTeam team(2);
  for (ThreadTeam* threads : {static_cast<ThreadTeam*>(nullptr), &team}) {
    auto A = lower_triangle(n, 0.5);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) A[i * n + j] = static_cast<double>(i * n + j);
    ASSERT_TRUE(cholesky({A.data(), n, n}, threads));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) ASSERT_EQ(A[i * n + j], static_cast<double>(i * n + j));
  }
}

}  // namespace
}  // namespace lather::linalg
