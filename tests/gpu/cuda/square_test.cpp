// A^T A of large matrices is made of blocks: the same numbers as one by one, and nothing beside the triangle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "device_stream.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::cuda {
namespace {

void expect_square(int n, int k, bool of_rows) {
  const double beta = 0.5;
  const std::size_t entries = static_cast<std::size_t>(n) * n;
  const auto a = optim::testing_support::normal_numbers(3, 1, static_cast<std::size_t>(n) * k),
             c = optim::testing_support::normal_numbers(3, 2, entries);
  const Stream stream;
  const Blas blas(stream);
  Memory<double> on_device_a(a.size()), on_device_c(c.size());
  on_device_a.upload(a);
  on_device_c.upload(c);
  blas.square({.n = n, .k = k, .of_rows = of_rows, .beta = beta}, on_device_a.data(), of_rows ? k : n,
              on_device_c.data(), n);
  stream.synchronize();
  std::vector<double> got(entries);
  on_device_c.download(got);
  const auto entry = [&](int i, int l) {
    return of_rows ? a[static_cast<std::size_t>(i) * k + l] : a[static_cast<std::size_t>(l) * n + i];
  };
  double worst = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const std::size_t at = static_cast<std::size_t>(i) * n + j;
      double expected = c[at];
      if (j >= i) {
        expected *= beta;
        for (int l = 0; l < k; ++l) expected += entry(i, l) * entry(j, l);
      }
      worst = std::max(worst, std::abs(got[at] - expected));
    }
  EXPECT_LT(worst, 1e-13) << n << " × " << k << (of_rows ? ", rows" : ", columns");
}

TEST(Square, OfBlocksIsThatOfTheWhole) {
  REQUIRE_GPU();
  const int n = 2200;
  ASSERT_LT(square_block(n), n);
  ASSERT_NE(n % square_block(n), 0);
  expect_square(n, 3, false);
  expect_square(n, 3, true);
  ASSERT_EQ(square_block(100), 100);
  expect_square(100, 7, false);
}

}  // namespace
}  // namespace lather::cuda
