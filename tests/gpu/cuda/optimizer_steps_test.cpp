// Optimizers on the GPU against the same ones on the host, step by step on the same gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "device_stream.hpp"
#include "gpu/optimizer_cases.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/core/state.hpp"
#include "lather/optim/kronecker/basis_log.hpp"
#include "lather/optim/wrappers/composed.hpp"

namespace lather::optim {
namespace {

using namespace testing_support;

ParameterLayout network_shapes() {
  ParameterLayout layout;
  layout.add_matrix("layer1.weight", 2, 7, Role::input);
  layout.add_vector("layer1.bias", 7);
  layout.add_matrix("layer2.weight", 7, 7);
  layout.add_vector("layer2.bias", 7);
  layout.add_matrix("layer3.weight", 7, 7);
  layout.add_matrix("layer4.weight", 7, 1, Role::output);
  layout.add_scalar("unknown");
  return layout;
}

struct Trajectory {
  Trajectory(const nlohmann::json& settings, Device device)
      : objective(network_shapes()),
        optimizer(make_composed(objective.layout(), optimizer_spec(settings), device)),
        x(normal_numbers(3, 1, objective.size())) {}
  void take(int steps) {
    for (int i = 0; i < steps; ++i) {
      const auto report = optimizer->step(objective, x);
      ASSERT_EQ(report.status, Status::running) << report.message;
      basis_updates += report.basis_updates;
    }
  }
  GivenGradients objective;
  std::unique_ptr<Optimizer> optimizer;
  std::vector<double> x;
  int basis_updates = 0;
};

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

constexpr int kSteps = 14;

class OnGivenGradients : public testing::TestWithParam<Case> {};

TEST_P(OnGivenGradients, TakesTheStepsOfTheHost) {
  REQUIRE_GPU();
  const auto& [name, settings, agreement] = GetParam();
  Trajectory host(settings, Device::cpu), device(settings, Device::cuda);
  const auto start = host.x;
  double worst = 0;
  for (int t = 0; t < kSteps; ++t) {
    host.take(1);
    device.take(1);
    const double change = largest_difference(host.x, start);
    if (change > 0) worst = std::max(worst, largest_difference(host.x, device.x) / change);
  }
  EXPECT_LT(worst, tolerance(agreement));
  EXPECT_GT(largest_difference(host.x, start), 1e-3);
  const std::string method = settings["name"];
  if (method.starts_with("ss-esoap") || method == "purifying-shampoo" || method == "soap") {
    EXPECT_GT(host.basis_updates, 2);  // otherwise bases would not have been compared
    EXPECT_EQ(device.basis_updates, host.basis_updates);
  }
}

TEST_P(OnGivenGradients, ReadsAStateOfTheHost) {
  REQUIRE_GPU();
  Trajectory host(GetParam().settings, Device::cpu), device(GetParam().settings, Device::cuda);
  host.take(12);
  StateWriter writer;
  host.optimizer->state(writer);
  StateReader reader(writer.bytes());
  device.optimizer->state(reader);
  EXPECT_TRUE(reader.at_end());
  StateWriter again;
  device.optimizer->state(again);
  EXPECT_EQ(again.bytes(), writer.bytes());
  device.x = host.x;
  device.objective.t = host.objective.t;
  const auto middle = host.x;
  host.take(3);
  device.take(3);
  EXPECT_LT(largest_difference(host.x, device.x),
            tolerance(GetParam().agreement) * largest_difference(host.x, middle));
}

INSTANTIATE_TEST_SUITE_P(All, OnGivenGradients, testing::ValuesIn(optimizer_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

// A power iteration with QR, as often as its frequency says.
TEST(DeviceOptimizer, RefreshesTheBasesOfSoapAsTheHostDoes) {
  REQUIRE_GPU();
  const auto settings = [](int frequency) {
    return nlohmann::json{{"name", "soap"}, {"precondition_frequency", frequency}};
  };
  Trajectory host(settings(8), Device::cpu), device(settings(8), Device::cuda),
      never(settings(1000), Device::cuda);
  const auto start = host.x;
  for (auto* run : {&host, &device, &never}) run->take(14);
  const double change = largest_difference(host.x, start);
  EXPECT_LT(largest_difference(host.x, device.x), 1e-10 * change);
  EXPECT_GT(largest_difference(host.x, never.x), 1e-2 * change);
}

// The first of the steps has no gradient before its own.
void expect_same_cosine(double found, double expected, int t) {
  EXPECT_EQ(std::isnan(found), t == 0);
  EXPECT_EQ(std::isnan(expected), t == 0);
  if (t == 0) return;
  EXPECT_NEAR(found, expected, 1e-8);
}

TEST(DeviceOptimizer, LogsChangesOfBasesAndCountsTauAsTheHostDoes) {
  REQUIRE_GPU();
  const nlohmann::json settings{{"name", "ss-esoap"}};
  Trajectory host(settings, Device::cpu), device(settings, Device::cuda);
  std::size_t events = 0;
  for (int t = 0; t < kSteps; ++t) {
    host.take(1);
    device.take(1);
    const auto &expected = *basis_log_of(*host.optimizer), &found = *basis_log_of(*device.optimizer);
    ASSERT_EQ(found.events.size(), expected.events.size()) << t;
    ASSERT_EQ(found.losses.size(), 1U);
    for (std::size_t i = 0; i < expected.events.size(); ++i) {
      const auto &e = expected.events[i], &f = found.events[i];
      EXPECT_EQ(f.step, e.step);
      EXPECT_EQ(f.block, e.block);
      EXPECT_EQ(f.gamma, e.gamma);
      EXPECT_NEAR(f.rho_left, e.rho_left, 1e-8);
      EXPECT_NEAR(f.rho_right, e.rho_right, 1e-8);
      expect_same_cosine(f.gradient_cosine, e.gradient_cosine, t);
    }
    events += expected.events.size();
    ASSERT_EQ(expected.fits.size(), expected.tau.size());
    ASSERT_EQ(found.fits.size(), expected.fits.size());
    for (std::size_t l = 0; l < expected.fits.size(); ++l) {
      EXPECT_NEAR(found.fits[l].rho, expected.fits[l].rho, 1e-8);
      expect_same_cosine(found.fits[l].gradient_cosine, expected.fits[l].gradient_cosine, t);
    }
  }
  EXPECT_GT(events, 2U);
  const auto &expected = *basis_log_of(*host.optimizer), &found = *basis_log_of(*device.optimizer);
  ASSERT_EQ(found.tau.size(), 4U);
  for (std::size_t l = 0; l < 4; ++l) {
    EXPECT_EQ(found.tau[l].block, expected.tau[l].block);
    EXPECT_EQ(expected.tau[l].counts[kTauSteps], kSteps - 1);
    for (int k = 0; k < kTauCounts; ++k) EXPECT_EQ(found.tau[l].counts[k], expected.tau[l].counts[k]) << k;
  }
}

}  // namespace
}  // namespace lather::optim
