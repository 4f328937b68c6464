// The orthogonal form on the device, from given rows.
#include <gtest/gtest.h>

#include <cmath>

#include "lather/core/cuda/runtime.hpp"
#include "lather/core/device.hpp"
#include "lather/optim/cuda/least_squares/normal_matrix.hpp"
#include "optim/ill_conditioned.hpp"

namespace lather::optim {
namespace {

using namespace ill_conditioned;

// Hands out its rows in two pieces.
class GivenRows final : public DeviceJacobian {
 public:
  GivenRows(std::span<const double> J, std::span<const double> r) : J_(r.size() * kStride), r_(r.size()) {
    for (std::size_t k = 0; k < r.size(); ++k) J_.upload(J.subspan(k * kColumns, kColumns), k * kStride);
    r_.upload(r);
  }
  double normal_matrix(std::span<const double>, double*, std::span<double>, const Finish&) override {
    return 0;
  }
  Enqueued enqueue_transposed_times(std::span<const double>, std::span<const double>) override { return {}; }
  void gram_matrix(std::span<const double>, double*, std::span<double>) override {}
  void visit_rows(std::span<const double>, const RowVisitor& visit) override {
    constexpr std::size_t kFirst = 15;
    visit(J_.data(), r_.data(), kFirst);
    visit(J_.data() + kFirst * kStride, r_.data() + kFirst, kRows - kFirst);
  }

 private:
  static constexpr std::size_t kStride = cuda::row_stride(kColumns);
  cuda::Memory<double> J_, r_;
};

TEST(OrthogonalFactorOnCuda, SolvesWhatCholeskyCannot) {
  if (!cuda_report().usable) GTEST_SKIP() << cuda_report().text;
  const auto J = rows(), r = right_hand_side(J);
  GivenRows given(J, r);
  const auto factor = make_device_orthogonal_factor(given, kColumns);
  std::vector<double> Jtr(kColumns), d(kColumns);
  factor->build({}, Jtr);
  for (std::size_t i = 0; i < kColumns; ++i) {
    double expected = 0, size = 0;
    for (std::size_t k = 0; k < kRows; ++k) {
      expected += J[k * kColumns + i] * r[k];
      size += std::abs(J[k * kColumns + i] * r[k]);
    }
    EXPECT_NEAR(Jtr[i], expected, 1e-13 * size);
  }
  for (const double shift : {1e-23, 1e-18, 1e-4}) {  // from almost no damping to strong
    ASSERT_TRUE(factor->damp(shift, std::vector<double>(kColumns, 1.0)));
    factor->solve(d);
    const auto exact = exact_solution(J, r, shift);
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < kColumns; ++i) {
      difference = std::fmax(difference, std::abs(d[i] + exact[i]));
      largest = std::fmax(largest, std::abs(exact[i]));
    }
    EXPECT_LT(difference, 1e-3 * largest) << shift;  // rounding (1e-16) times the condition (1e12)
  }
}

}  // namespace
}  // namespace lather::optim
