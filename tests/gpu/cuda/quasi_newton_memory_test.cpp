// What quasi-Newton methods keep on the GPU, against the same on the host, up to rounding.
#include <gtest/gtest.h>

#include "device_stream.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/optim/quasi_newton/inverse_hessian.hpp"
#include "lather/optim/quasi_newton/secant_history.hpp"

namespace lather::optim {
namespace {

using namespace testing_support;
using Values = std::vector<double>;

double relative_difference(const Values& a, const Values& b) {
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return difference / largest;
}

TEST(InverseHessianOnTheDevice, IsCorrectedAndMultipliedAsOnTheHost) {
  REQUIRE_GPU();
  const std::size_t n = 300;  // more than the threads of one block
  const auto host = make_inverse_hessian(n), device = make_device_inverse_hessian(n);
  Values on_host(n), on_device(n);
  const auto x = normal_numbers(1, 0, n);
  for (auto* H : {host.get(), device.get()}) H->set_to_identity(0.3);
  for (std::uint64_t k = 1; k < 6; ++k) {
    const auto p = normal_numbers(k, 1, n), q = normal_numbers(k, 2, n), r = normal_numbers(k, 3, n);
    for (auto* H : {host.get(), device.get()})
      H->correct({.scale = 1.1, .p = p, .q = q, .sign = k % 2 ? 1.0 : -1.0, .r = r});
    host->multiply(x, on_host);
    device->multiply(x, on_device);
    EXPECT_LT(relative_difference(on_device, on_host), 1e-13);
  }
  StateWriter written;
  device->state(written);
  StateReader reader(written.bytes());
  host->state(reader);
  Values again(n);
  host->multiply(x, again);
  EXPECT_LT(relative_difference(again, on_device), 1e-13);
}

// H stands for a product of ten rank-two corrections, each of condition y.y s.s / (y.s)^2, here below 10.
TEST(SecantsOnTheDevice, GiveTheDirectionOfTheHost) {
  REQUIRE_GPU();
  const std::size_t n = 50, capacity = 4;
  SecantHistory host(capacity), device(capacity);
  device.move_to_device(n);
  ASSERT_TRUE(device.on_device());
  for (std::uint64_t k = 1; k < 10; ++k) {  // the oldest pairs are dropped
    const auto s = normal_numbers(k, 1, n);
    auto y = normal_numbers(k, 2, n);
    for (std::size_t i = 0; i < n; ++i) y[i] = s[i] * (1 + static_cast<double>(i % 3)) + 0.2 * y[i];
    host.push(s, y);
    device.push(s, y);
    const auto g = normal_numbers(k, 3, n);
    Values on_host(n), on_device(n);
    host.descend(g, on_host);
    device.descend(g, on_device);
    EXPECT_LT(relative_difference(on_device, on_host), 1e-12) << k;
  }
}

}  // namespace
}  // namespace lather::optim
