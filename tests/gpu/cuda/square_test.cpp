// A^T A of large matrices is made of blocks: the same numbers as one by one, nothing outside the triangle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "device_stream.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/core/cuda/runtime.hpp"

namespace lather::cuda {
namespace {

void expect_square(int n, int k, bool of_rows, int block) {
  const double beta = 0.5;
  const std::size_t entries = static_cast<std::size_t>(n) * n;
  const auto a = optim::testing_support::normal_numbers(3, 1, static_cast<std::size_t>(n) * k),
             c = optim::testing_support::normal_numbers(3, 2, entries);
  const Stream stream;
  const Blas blas(stream);
  Memory<double> on_device_a(a.size()), on_device_c(c.size());
  on_device_a.upload(a);
  on_device_c.upload(c);
  blas.square({.n = n, .k = k, .of_rows = of_rows, .beta = beta, .block = block}, on_device_a.data(),
              of_rows ? k : n, on_device_c.data(), n);
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
  EXPECT_LT(worst, 1e-13) << n << " × " << k << (of_rows ? ", rows" : ", columns") << ", blocks of " << block;
}

TEST(Square, OfBlocksIsThatOfTheWhole) {
  REQUIRE_GPU();
  for (const int block : {0, 100, 64, 1})
    for (const bool of_rows : {false, true}) expect_square(100, 7, of_rows, block);
}

}  // namespace
}  // namespace lather::cuda
