// Factorizations and products end when their work is asked to stop, alone and on threads, and do not wait for
// each other then. A stop that asks for nothing changes no bit.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lather/core/interrupt.hpp"
#include "lather/core/rng.hpp"
#include "lather/core/threads.hpp"
#include "lather/linalg/column_gram.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/linalg/products.hpp"
#include "lather/linalg/tall_qr.hpp"

namespace lather::linalg {
namespace {

using Result = std::vector<double>;

Result numbers(std::size_t count) {
  const Random random(5, 1);
  Result values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = random.normal(i);
  return values;
}

Result positive_definite(std::size_t n) {
  const Result B = numbers(n * 8);
  Result A(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < 8; ++k) A[i * n + j] += B[i * 8 + k] * B[j * 8 + k];
      if (i == j) A[i * n + j] += 1;
    }
  return A;
}

constexpr std::size_t kSize = 300;  // large enough to be stopped

const std::map<std::string, std::function<Result(ThreadTeam*)>> kWork = {
    {"cholesky",
     [](ThreadTeam* team) {
       Result A = positive_definite(kSize);
       EXPECT_TRUE(cholesky({A.data(), kSize, kSize}, team));
       return A;
     }},
    {"eigenvectors",
     [](ThreadTeam*) {
       const Result A = positive_definite(kSize);
       Result values(kSize), vectors(kSize * kSize);
       EXPECT_TRUE(eigenvectors({A.data(), kSize, kSize}, values, {vectors.data(), kSize, kSize}));
       return vectors;
     }},
    {"thin SVD",
     [](ThreadTeam*) {
       const Result A = numbers(kSize * kSize);
       Result u(kSize * kSize), v(kSize * kSize), values(kSize);
       EXPECT_TRUE(
           thin_svd({A.data(), kSize, kSize}, {u.data(), kSize, kSize}, values, {v.data(), kSize, kSize}));
       return u;
     }},
    {"singular values",
     [](ThreadTeam*) {
       const Result A = numbers(2 * kSize * kSize);
       Result values(kSize);
       EXPECT_TRUE(singular_values({A.data(), 2 * kSize, kSize}, values));
       return values;
     }},
    {"least squares",
     [](ThreadTeam*) {
       const Result A = numbers(2 * kSize * kSize), b = numbers(2 * kSize);
       Result x(kSize);
       solve_least_squares({A.data(), 2 * kSize, kSize}, {b.data(), 2 * kSize, 1}, {x.data(), kSize, 1},
                           1e-12);
       return x;
     }},
    {"tall QR",
     [](ThreadTeam* team) {
       const Result A = numbers(500 * kSize);
       TallQr qr;
       qr.reset(kSize);
       qr.add_rows({A.data(), 500, kSize}, team);
       const auto R = qr.R();
       return Result(R.data, R.data + kSize * kSize);
     }},
    {"product", [](ThreadTeam*) {
       const Result A = numbers(kSize * kSize);
       Result out(kSize * kSize);
       multiply({out.data(), kSize, kSize}, {A.data(), kSize, kSize}, {A.data(), kSize, kSize});
       return out;
     }}};

TEST(LinearAlgebra, EndsWhenItIsAskedToAndIsOtherwiseTheSame) {
  ThreadTeam team(3);
  for (const auto& [name, work] : kWork)
    for (ThreadTeam* threads : {static_cast<ThreadTeam*>(nullptr), &team}) {
      const Result plain = work(threads);
      Stop stop;
      const StopScope scope(stop);
      EXPECT_EQ(work(threads), plain) << name;
      stop.end_in(0);
      EXPECT_THROW(work(threads), Interrupted) << name;
      const auto undisturbed = StopScope::only(nullptr);
      EXPECT_EQ(work(threads), plain) << name;
    }
}

}  // namespace
}  // namespace lather::linalg
