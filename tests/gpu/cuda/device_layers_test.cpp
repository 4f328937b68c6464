// Kernels of Kronecker methods one by one, against the host's functions, up to rounding.
#include "lather/optim/cuda/device_layers.hpp"

#include <gtest/gtest.h>

#include "device_stream.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/kronecker/factors.hpp"

namespace lather::optim {
namespace {

using namespace testing_support;
using linalg::view;
using Values = std::vector<double>;

constexpr double kRounding = 1e-13;

void expect_near(std::span<const double> a, std::span<const double> b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  double largest = 1e-300, difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  EXPECT_LT(difference, kRounding * largest) << what;
}

// The same blocks on the host and on the device, with the same factors and bases.
struct Blocks {
  Blocks() {
    for (const auto& [rows, cols] : {std::pair{6, 4}, {1, 5}, {6, 4}, {5, 1}, {3, 9}})
      layout.add_matrix("block", static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
    for (const auto& block : layout.blocks()) {
      auto& K = host.emplace_back(block.rows, block.cols, kLongest, 0);
      for (auto* side : {&K.left, &K.right}) {
        if (!side->active()) continue;
        const auto Q = orthogonal_matrix(40 + host.size(), side->d);
        std::copy(Q.begin(), Q.end(), side->basis.begin());
        set_spectrum(*side, [](std::size_t i) { return std::pow(0.4, static_cast<double>(i)); });
      }
    }
    device = std::make_unique<DeviceLayers>(
        layout, std::vector<std::size_t>{0, 1, 2, 3, 4}, [](const ParameterBlock&) { return kLongest; }, 0);
    device->bind(stream);
  }

  // factor = P diag(spectrum) P^T
  template <class Spectrum>
  static void set_spectrum(KroneckerSide& side, Spectrum spectrum) {
    const auto d = side.d;
    const auto P = orthogonal_matrix(7 + d, d);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < d; ++k) sum += P[i * d + k] * spectrum(k) * P[j * d + k];
        side.factor[i * d + j] = sum;
      }
  }

  void upload() {
    for (std::size_t l = 0; l < host.size(); ++l) {
      StateWriter writer;
      host[l].state(writer);
      StateReader reader(writer.bytes());
      device->state(reader, l);
    }
  }
  // Copies what the device has now into pairs of the host's kind.
  std::vector<KroneckerPair> download() {
    stream.synchronize();
    auto copy = host;
    for (std::size_t l = 0; l < host.size(); ++l) {
      StateWriter writer;
      device->state(writer, l);
      StateReader reader(writer.bytes());
      copy[l].state(reader);
    }
    return copy;
  }
  std::span<double> block(Values& flat, std::size_t l) const {
    const auto& b = layout.blocks()[l];
    return std::span(flat).subspan(b.offset, b.size());
  }

  static constexpr std::size_t kLongest = 8;  // the last block has one longer side
  ParameterLayout layout;
  std::vector<KroneckerPair> host;
  cuda::Stream stream;
  std::unique_ptr<DeviceLayers> device;
};

TEST(DeviceLayers, RotateAsTheHostDoes) {
  REQUIRE_GPU();
  Blocks b;
  b.upload();
  auto x = normal_numbers(1, 2, b.layout.size());
  cuda::Memory<double> in(x.size()), out(x.size()), back(x.size());
  in.upload(x);
  out.upload(x);
  b.device->rotate_in(in.data(), out.data());
  b.device->rotate_out(out.data(), back.data());
  b.stream.synchronize();
  Values rotated(x.size()), returned(x.size());
  out.download(rotated);
  back.download(returned);
  for (std::size_t l = 0; l < b.host.size(); ++l) {
    Values expected(b.layout.blocks()[l].size());
    b.host[l].rotate_in(b.block(x, l), expected);
    expect_near(b.block(rotated, l), expected, "rotate_in");
    expect_near(b.block(returned, l), b.block(x, l), "rotate_out");
  }
}

TEST(DeviceLayers, AccumulateFactorsAndTheirSquaresAsTheHostDoes) {
  REQUIRE_GPU();
  Blocks b;
  b.upload();
  auto g = normal_numbers(1, 3, b.layout.size());
  cuda::Memory<double> gradient(g.size());
  cuda::Memory<Control> control(1);
  gradient.upload(g);
  b.device->outer_products(gradient.data());
  const FactorKernelArgs args{b.device->work(), control.data(), 0.9, 0.1};
  b.device->launch("accumulate_factors", b.device->factor_blocks(),
                   static_cast<unsigned>(b.device->side_count()), cuda::Parameter().add(args));
  const auto now = b.download();
  Values partials(2 * b.device->factor_blocks() * b.device->side_count());
  cuda::check(cudaMemcpy(partials.data(), b.device->work().partials, partials.size() * sizeof(double),
                         cudaMemcpyDeviceToHost));
  std::size_t next = 0;
  for (std::size_t l = 0; l < b.host.size(); ++l) {
    auto& K = b.host[l];
    K.accumulate(0.9, 0.1, b.block(g, l));
    expect_near(now[l].left.factor, K.left.factor, "left factor");
    expect_near(now[l].right.factor, K.right.factor, "right factor");
    for (auto* side : {&K.left, &K.right}) {
      if (!side->active()) continue;
      const auto expected = off_diagonal(side->factor_view());
      double off = 0, on = 0;
      for (unsigned k = 0; k < b.device->factor_blocks(); ++k, next += 2)
        off += partials[next], on += partials[next + 1];
      EXPECT_NEAR(std::sqrt(off), expected.off, kRounding * expected.norm);
      EXPECT_NEAR(std::sqrt(off + on), expected.norm, kRounding * expected.norm);
    }
  }
}

// Eigenvectors of the factor, made unique; also with pairs of equal eigenvalues, where only the plane they
// span is determined and linalg::make_canonical chooses its basis.
TEST(DeviceLayers, ReplaceBasesAsTheHostDoes) {
  REQUIRE_GPU();
  for (const bool ties : {false, true})
    for (const int every : {1, 2, 3}) {  // of the sides
      const bool compose = every != 2;
      Blocks b;
      for (auto& K : b.host)
        for (auto* side : {&K.left, &K.right})
          if (side->active())
            Blocks::set_spectrum(
                *side, [&](std::size_t i) { return std::pow(0.4, static_cast<double>(ties ? i / 2 : i)); });
      b.upload();
      std::vector<int> changed(b.device->side_count());
      for (std::size_t s = 0; s < changed.size(); ++s) changed[s] = s % static_cast<std::size_t>(every) == 0;
      cuda::check(cudaMemcpy(b.device->changed(), changed.data(), changed.size() * sizeof(int),
                             cudaMemcpyHostToDevice));
      cuda::check(cudaStreamSynchronize(nullptr));  // our streams do not wait for the default stream
      b.device->read_changed();
      b.device->replace_bases({.from = DeviceLayers::Square::factor,
                               .compose = compose,
                               .descending = true,
                               .values_into_factor = compose});
      auto now = b.download();
      std::size_t next = 0;
      for (std::size_t l = 0; l < b.host.size(); ++l)
        for (const bool left : {true, false}) {
          auto& side = left ? b.host[l].left : b.host[l].right;
          auto& got = left ? now[l].left : now[l].right;
          if (!side.active()) continue;
          if (!changed[next++]) {
            EXPECT_EQ(got.basis, side.basis);
            EXPECT_EQ(got.factor, side.factor);
            continue;
          }
          const std::size_t d = side.d;
          AlignedVector values(d), X(d * d), Q(d * d);
          ASSERT_TRUE(linalg::eigenvectors(side.factor_view(), values, view(std::span(X), d, d)));
          if (compose)
            linalg::multiply(view(std::span(Q), d, d), side.basis_view(), view(std::span(X), d, d));
          else
            Q = X;
          linalg::make_canonical(values, view(std::span(Q), d, d));
          if (d > 1) expect_near(got.basis, Q, ties ? "tied" : "separated");
          if (!compose) continue;
          for (std::size_t i = 0; i < d; ++i)
            EXPECT_NEAR(got.factor[i * d + i], d > 1 ? values[i] : side.factor[0], kRounding);
        }
    }
}

// The orthonormal factor of A, used as both sides of a block; the results must be the same.
Values orthonormal_factor_on_device(const Values& A, std::size_t d) {
  ParameterLayout layout;
  layout.add_matrix("square", d, d);
  DeviceLayers device(
      layout, {0}, [](const ParameterBlock&) { return std::size_t{1000}; }, 0);
  const cuda::Stream stream;
  device.bind(stream);
  KroneckerPair K(d, d, 1000, 0);
  for (auto* side : {&K.left, &K.right}) std::copy(A.begin(), A.end(), side->factor.begin());
  StateWriter writer;
  K.state(writer);
  StateReader reader(writer.bytes());
  device.state(reader, 0);
  device.copy(DeviceLayers::Square::factor, DeviceLayers::Square::result);
  const cuda::Memory<Control> control(1);
  device.orthonormalize(control.data());
  stream.synchronize();
  StateWriter after;
  device.state(after, 0);
  StateReader result(after.bytes());
  K.state(result);
  EXPECT_EQ(K.left.basis, K.right.basis);
  return {K.left.basis.begin(), K.left.basis.end()};
}

// Householder's factor Q, columns and signs as on the host.
TEST(DeviceLayers, OrthonormalFactorIsThatOfTheHost) {
  REQUIRE_GPU();
  // A panel has 16 columns, a thread block applies it to 32, and panels of more than 256 rows stay in memory.
  for (const std::size_t d : {1, 2, 7, 16, 17, 40, 150, 300}) {
    // Singular values between about sqrt(d) and 5 sqrt(d): Q is determined up to rounding. That of normal numbers
    // alone is determined up to rounding times a condition number of thousands.
    auto A = normal_numbers(3, d, d * d);
    for (std::size_t i = 0; i < d; ++i) A[i * d + i] += 3 * std::sqrt(static_cast<double>(d));
    Values Q(d * d);
    linalg::orthonormal_factor({A.data(), d, d}, {Q.data(), d, d});
    expect_near(orthonormal_factor_on_device(A, d), Q, "d = " + std::to_string(d));
  }
}

// If A determines Q badly or not at all, Q is still orthonormal, and Q^T A upper triangular.
TEST(DeviceLayers, OrthonormalFactorHoldsForGradedAndSingularMatrices) {
  REQUIRE_GPU();
  const std::size_t d = 50;
  const auto graded = [&](double ratio) {
    auto A = normal_numbers(4, d, d * d);
    for (std::size_t i = 0; i < A.size(); ++i) A[i] *= std::pow(ratio, static_cast<double>(i % d));
    return A;
  };
  Values repeated = graded(1), empty = graded(1);
  for (std::size_t i = 0; i < d; ++i) {
    repeated[i * d + 20] = repeated[i * d + 19];  // within a panel
    repeated[i * d + 40] = repeated[i * d + 3];   // in different ones
    empty[i * d] = empty[i * d + 33] = 0;
  }
  for (const auto& A : {graded(0.5), graded(1e-3), repeated, empty, Values(d * d)}) {
    const auto Q = orthonormal_factor_on_device(A, d);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) {
        double product = 0, below = 0, length = 0;
        for (std::size_t k = 0; k < d; ++k) {
          product += Q[k * d + i] * Q[k * d + j];
          below += Q[k * d + i] * A[k * d + j];
          length += A[k * d + j] * A[k * d + j];
        }
        EXPECT_NEAR(product, i == j, kRounding);
        if (i > j) {
          EXPECT_LE(std::abs(below), kRounding * std::sqrt(length));
        }
      }
  }
}

}  // namespace
}  // namespace lather::optim
