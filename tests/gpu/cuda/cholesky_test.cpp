// Cholesky factors on the device equal the host's, for sizes around block (64) and panel (256) edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "device_stream.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/optim/cuda/least_squares/triangles.hpp"

namespace lather::optim {
namespace {

// A A^T + n I for a random A, row-major.
std::vector<double> positive_matrix(std::size_t n) {
  const std::size_t rank = 20;
  const auto a = testing_support::normal_numbers(5, n, n * rank);
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = i == j ? static_cast<double>(n) / 10 : 0.0;
      for (std::size_t k = 0; k < rank; ++k) sum += a[i * rank + k] * a[j * rank + k];
      matrix[i * n + j] = sum;
    }
  return matrix;
}

// The matrix above and on the diagonal; NaN below, which must not be read.
void put(DeviceGram& gram, const std::vector<double>& matrix) {
  const std::size_t n = gram.size(), stride = cuda::row_stride(n);
  std::vector<double> upper(n * stride, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) upper[i * stride + j] = matrix[i * n + j];
  cuda::check(cudaMemcpy(gram.upper(), upper.data(), upper.size() * sizeof(double), cudaMemcpyHostToDevice));
  cuda::check(cudaStreamSynchronize(nullptr));
  gram.written();
}

double most_apart(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::abs(a[i] - b[i]) <= worst ? worst : std::abs(a[i] - b[i]);  // a NaN stays
  return worst;
}

void expect_factor_of(std::size_t n) {
  const auto matrix = positive_matrix(n);
  const cuda::Stream stream;
  const cuda::Blas blas(stream);
  DeviceGram gram(n, blas, stream);
  put(gram, matrix);
  const auto b = testing_support::normal_numbers(6, n, n);
  for (const double s : {0.5, 3.0}) {  // the second time from what the first left
    std::vector<double> shift(n), expected(matrix), lower(n * n), x(b), on_host(b);
    for (std::size_t i = 0; i < n; ++i) {
      shift[i] = s * (1.0 + static_cast<double>(i % 3));
      expected[i * (n + 1)] += shift[i];
    }
    ASSERT_TRUE(gram.factor_and_solve(shift, x));
    ASSERT_TRUE(linalg::cholesky({expected.data(), n, n}));
    linalg::cholesky_solve({expected.data(), n, n}, on_host);
    EXPECT_LT(most_apart(x, on_host), 1e-12) << n;  // half of it came with the factor
    std::vector<double> afterwards(b);
    gram.solve(afterwards);
    EXPECT_LT(most_apart(afterwards, on_host), 1e-12) << n;
    download_rows(gram.factor(), n, n, lower.data());
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) {
        EXPECT_EQ(lower[i * n + j], matrix[i * n + j]) << "above the diagonal, " << n;
        lower[i * n + j] = expected[i * n + j] = 0;
      }
    EXPECT_LT(most_apart(lower, expected), 1e-12 * std::sqrt(static_cast<double>(n))) << n;
  }
}

TEST(DeviceCholesky, IsThatOfTheHost) {
  REQUIRE_GPU();
  for (const std::size_t n : {1, 5, 63, 64, 65, 200, 256, 257, 330}) expect_factor_of(n);
}

TEST(DeviceCholesky, SaysWhereAMatrixIsNotPositiveDefinite) {
  REQUIRE_GPU();
  const cuda::Stream stream;
  const cuda::Blas blas(stream);
  for (const std::size_t n : {1, 70, 300}) {
    const auto matrix = positive_matrix(n);
    DeviceGram gram(n, blas, stream);
    put(gram, matrix);
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1})
      for (const double pivot : {-1e6, std::numeric_limits<double>::quiet_NaN()}) {
        std::vector<double> shift(n);
        EXPECT_TRUE(gram.factor(shift)) << n;
        shift[at] = pivot;
        EXPECT_FALSE(gram.factor(shift)) << n << ", " << at;
      }
  }
}

}  // namespace
}  // namespace lather::optim
