// Optimizers that live on the GPU against the same ones on the host, with gradients from the same engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/rng.hpp"
#include "lather/core/state.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"

namespace lather::optim {
namespace {

using Json = nlohmann::json;

#define REQUIRE_GPU() \
  if (const auto report = cuda_report(); !report.usable) GTEST_SKIP() << report.text

constexpr const char* kProblem = R"toml(
name = "small"
coordinates = ["x", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
t = [0, 1]
[[equation]]
name = "equation"
residual = "u_t + u*u_x - 0.1*u_xx"
[[condition]]
name = "initial"
where = "t = 0"
residual = "u + sin(pi*x)"
[network]
width = 7
depth = 3
)toml";

struct Training {
  Training()
      : objective(pde::read_problem_text(kProblem, "small.toml"), {.device = Device::cuda}),
        x(objective.initialize(3)) {
    for (int set = 0; set < 2; ++set) {
      const std::size_t count = set == 0 ? 40 : 20;
      pde::Points points;
      for (int c = 0; c < 2; ++c) {
        const Random random(5, static_cast<std::uint64_t>(2 * set + c));
        auto& values = points.coordinates.emplace_back(count);
        for (std::size_t k = 0; k < count; ++k)
          values[k] = set == 1 && c == 1 ? 0 : random.uniform(k, c == 0 ? -1 : 0, 1);
      }
      objective.set_points(set, points);
    }
  }
  pde::PinnObjective objective;
  std::vector<double> x;
};

// On the emulated device the eigensolver is that of the host and what remains is rounding. cuSOLVER's
// eigenvectors differ from Eigen's by rounding over the gap between eigenvalues, and factors of 12 gradients
// have gaps of 1e-10 of the largest.
double tolerance() { return cuda_report().text.find("emulated") != std::string::npos ? 1e-6 : 2e-3; }

// The largest difference, relative to the largest change of a parameter since the start.
double deviation(const std::vector<double>& a, const std::vector<double>& b,
                 const std::vector<double>& start) {
  double difference = 0, change = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    change = std::max(change, std::abs(b[i] - start[i]));
  }
  return difference / change;
}

std::vector<double> train(Optimizer& optimizer, Training& setup, std::vector<double> x, int steps,
                          int row = 1) {
  for (std::int64_t taken = 0; taken < steps;) {
    const std::vector<double> factors(static_cast<std::size_t>(std::min<std::int64_t>(row, steps - taken)),
                                      1.0);
    std::int64_t done = 0;
    const auto report = optimizer.steps(setup.objective, x, factors, done);
    EXPECT_EQ(report.status, Status::running) << report.message;
    taken += done;
  }
  return x;
}

struct Case {
  const char* name;
  Json settings;
};

std::vector<Case> cases() {
  return {
      {"adam", {{"name", "adam"}}},
      {"amsgrad", {{"name", "adamw"}, {"amsgrad", true}}},
      {"clipped", {{"name", "ss-esoap"}, {"trigger", 0.05}, {"clip", {{"limit", 0.2}}}}},
      {"clipped_by_value", {{"name", "sgd"}, {"clip", {{"by", "value"}, {"limit", 0.05}}}}},
      {"scheduled", {{"name", "adam"}, {"schedule", {{"decay", "cosine"}, {"total_steps", 30}}}}},
      {"ss_esoap", {{"name", "ss-esoap"}, {"trigger", 0.02}}},
      {"ss_esoap_paper", {{"name", "ss-esoap-paper"}, {"trigger", 0.05}}},
      {"ss_esoap_decay",
       {{"name", "ss-esoap"}, {"trigger", 0.05}, {"weight_decay", 0.01}, {"tau_scope", "global"}}},
      {"ss_esoap_shampoo_reset",
       {{"name", "ss-esoap"},
        {"secant_metric", "shampoo"},
        {"variance_transition", "reset"},
        {"check_interval", 3}}},
      {"ss_esoap_oren_luenberger_per_factor",
       {{"name", "ss-esoap"}, {"secant_metric", "oren-luenberger"}, {"trigger_rule", "per-factor"}}},
      {"ss_esoap_momentum",
       {{"name", "ss-esoap"}, {"inner_update", "momentum"}, {"precondition_vectors", true}}},
      {"ss_esoap_one_sided", {{"name", "ss-esoap"}, {"max_dimension", 5}}},
      {"ss_esoap_permute", {{"name", "ss-esoap"}, {"trigger", 0.05}, {"variance_transition", "permute"}}},
      {"ss_esoap_reproject_squared",
       {{"name", "ss-esoap"},
        {"trigger", 0.05},
        {"variance_transition", "reproject-squared"},
        {"trigger_rule", "per-factor"}}},
      {"ss_esoap_reproject", {{"name", "ss-esoap"}, {"trigger", 0.05}, {"variance_transition", "reproject"}}},
      {"soap_normalized", {{"name", "soap"}, {"normalize_gradients", true}, {"precondition_frequency", 20}}},
      {"soap", {{"name", "soap"}, {"weight_decay", 0.01}, {"precondition_frequency", 20}}},
      {"soap_short_sides", {{"name", "soap"}, {"max_dimension", 6}, {"precondition_frequency", 4}}},
      {"purifying_shampoo", {{"name", "purifying-shampoo"}, {"precondition_frequency", 3}}},
      {"purifying_shampoo_always",
       {{"name", "purifying-shampoo"}, {"tolerance", 0}, {"start_preconditioning_step", 5}}},
      {"purifying_shampoo_sums",
       {{"name", "purifying-shampoo"}, {"beta2", 1}, {"precondition_vectors", true}, {"tolerance", 0.01}}},
      {"sgd", {{"name", "sgd"}, {"dampening", 0.1}}},
      {"sgd_nesterov_decay", {{"name", "sgd"}, {"nesterov", true}, {"weight_decay", 0.01}}},
      {"sgd_plain", {{"name", "sgd"}, {"momentum", 0}, {"dampening", 0.1}}},
      {"muon", {{"name", "muon"}}},
      {"muon_all",
       {{"name", "muon"},
        {"matrices", "all"},
        {"rows", "outputs"},
        {"nesterov", false},
        {"newton_schulz_steps", 4},
        {"weight_decay", 0.01},
        {"adam_learning_rate_ratio", 0.2}}},
      {"muon_every_third", {{"name", "muon"}, {"orthogonalization_frequency", 3}}},
      // Factors of a few gradients are singular to rounding; a larger epsilon keeps their inverse roots from
      // being roots of the rounding.
      {"shampoo",
       {{"name", "shampoo"}, {"precondition_frequency", 3}, {"weight_decay", 0.01}, {"epsilon", 1e-8}}},
      {"shampoo_alone",
       {{"name", "shampoo"},
        {"grafting", "none"},
        {"precondition_vectors", true},
        {"precondition_frequency", 2},
        {"epsilon", 1e-6}}},
      {"shampoo_sums",
       {{"name", "shampoo"},
        {"beta2", 1},
        {"correct_bias", false},
        {"max_dimension", 6},
        {"start_preconditioning_step", 5}}},
      {"multiadam", {{"name", "multiadam"}}},
      {"multiadam_one_group",
       {{"name", "multiadam"}, {"groups", {0, 0}}, {"group_weights", {0.7}}, {"weight_decay", 0.01}}},
  };
}

class OnTheDevice : public testing::TestWithParam<Case> {};

// Eigenvectors that are nearly degenerate differ between solvers by more than rounding, so the trajectories
// part slowly.
TEST_P(OnTheDevice, TakesTheStepsOfTheHost) {
  REQUIRE_GPU();
  Training setup;
  const auto host = make_composed(setup.objective.layout(), GetParam().settings);
  const auto device = make_composed(setup.objective.layout(), GetParam().settings, Device::cuda);

  const auto on_host = train(*host, setup, setup.x, 12), on_device = train(*device, setup, setup.x, 12);
  EXPECT_LT(deviation(on_device, on_host, setup.x), tolerance());
}

// What would run on the host could not tell an objective on the GPU from any other.
TEST_P(OnTheDevice, LivesThere) {
  REQUIRE_GPU();
  struct Flat final : Objective {
    explicit Flat(const ParameterLayout& l) : layout_(l) {}
    const ParameterLayout& layout() const override { return layout_; }
    double value(std::span<const double>) override { return 0; }
    double value_and_gradient(std::span<const double>, std::span<double> gradient) override {
      std::fill(gradient.begin(), gradient.end(), 0.0);
      return 0;
    }
    ParameterLayout layout_;
  };
  Training setup;
  Flat flat(setup.objective.layout());
  const auto device = make_composed(flat.layout(), GetParam().settings, Device::cuda);
  EXPECT_THROW(device->step(flat, setup.x), Error);
}

TEST_P(OnTheDevice, GivesTheSameBitsHoweverManyStepsAreLaunchedAtOnce) {
  REQUIRE_GPU();
  Training setup;
  const auto single = make_composed(setup.objective.layout(), GetParam().settings, Device::cuda);
  const auto rows = make_composed(setup.objective.layout(), GetParam().settings, Device::cuda);
  EXPECT_EQ(train(*single, setup, setup.x, 400),
            train(*rows, setup, setup.x, 400, 150));  // rows of 16 from step 256 on
}

TEST_P(OnTheDevice, GoesOnBitForBitFromASavedState) {
  REQUIRE_GPU();
  Training setup;
  const auto whole = make_composed(setup.objective.layout(), GetParam().settings, Device::cuda);
  const auto first = make_composed(setup.objective.layout(), GetParam().settings, Device::cuda);
  const auto second = make_composed(setup.objective.layout(), GetParam().settings, Device::cuda);
  const auto expected = train(*whole, setup, setup.x, 24);
  const auto middle = train(*first, setup, setup.x, 11);
  StateWriter writer;
  first->state(writer);
  StateReader reader(writer.bytes());
  second->state(reader);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(train(*second, setup, middle, 13), expected);
}

TEST_P(OnTheDevice, ReadsAStateOfTheHost) {
  REQUIRE_GPU();
  Training setup;
  const auto host = make_composed(setup.objective.layout(), GetParam().settings);
  const auto device = make_composed(setup.objective.layout(), GetParam().settings, Device::cuda);
  const auto middle = train(*host, setup, setup.x, 7);
  StateWriter writer;
  host->state(writer);
  StateReader reader(writer.bytes());
  device->state(reader);
  EXPECT_TRUE(reader.at_end());
  StateWriter again;
  device->state(again);
  EXPECT_EQ(again.bytes(), writer.bytes());
  EXPECT_LT(deviation(train(*device, setup, middle, 5), train(*host, setup, middle, 5), middle), tolerance());
}

INSTANTIATE_TEST_SUITE_P(All, OnTheDevice, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

std::string name_of(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

// Line searches amplify rounding, so few steps are compared.
class QuasiNewtonOnTheDevice : public testing::TestWithParam<const char*> {};

TEST_P(QuasiNewtonOnTheDevice, TakesTheStepsOfTheHost) {
  REQUIRE_GPU();
  Training on_device;
  pde::PinnObjective on_host(on_device.objective.problem());
  on_host.set_frozen(on_device.objective.frozen());
  for (int set = 0; set < 2; ++set) on_host.set_points(set, on_device.objective.points(set));
  const Json settings{{"name", GetParam()}};
  const auto host = make_composed(on_host.layout(), settings),
             device = make_composed(on_host.layout(), settings, Device::cuda);
  auto a = on_device.x, b = on_device.x;
  for (int t = 0; t < 12; ++t) {
    EXPECT_EQ(host->step(on_host, a).status, Status::running);
    EXPECT_EQ(device->step(on_device.objective, b).status, Status::running);
  }
  EXPECT_LT(deviation(b, a, on_device.x), tolerance());
}

INSTANTIATE_TEST_SUITE_P(All, QuasiNewtonOnTheDevice,
                         testing::Values("lbfgs", "bfgs", "ss-bfgs", "ss-broyden", "lm"), name_of);

// A refresh is a QR factorization of factor times basis. The output layer's factor is a sum of few outer
// products, and what QR makes of its null space is rounding noise, so only the hidden layers are compared,
// and only until the noise reaches them.
TEST(DeviceOptimizer, RefreshesTheBasesOfSoapAsTheHostDoes) {
  REQUIRE_GPU();
  Training setup;
  const Json settings{{"name", "soap"}, {"precondition_frequency", 4}};
  const auto host = make_composed(setup.objective.layout(), settings);
  const auto device = make_composed(setup.objective.layout(), settings, Device::cuda);
  const auto on_host = train(*host, setup, setup.x, 6), on_device = train(*device, setup, setup.x, 6);
  for (const auto& block : setup.objective.layout().blocks())
    if (block.name == "layer2.weight" || block.name == "layer3.weight") {
      for (std::size_t i = block.offset; i < block.offset + block.size(); ++i)
        EXPECT_NEAR(on_device[i], on_host[i], 0.1 * tolerance()) << block.name;
    }
}

// A step that ends in a NaN changes nothing but the count.
class StopsOnTheDevice : public testing::TestWithParam<const char*> {};

TEST_P(StopsOnTheDevice, AtAGradientThatIsNotFinite) {
  REQUIRE_GPU();
  Training setup;
  const auto device = make_composed(setup.objective.layout(), {{"name", GetParam()}}, Device::cuda);
  auto x = train(*device, setup, setup.x, 3);
  x[0] = std::nan("");
  const auto before = x;
  std::int64_t done = 0;
  const std::vector<double> factors(20, 1.0);
  const auto report = device->steps(setup.objective, x, factors, done);
  EXPECT_EQ(report.status, Status::non_finite);
  EXPECT_NE(report.message.find("not finite"), std::string::npos) << report.message;
  EXPECT_EQ(done, 1);
  for (std::size_t i = 1; i < x.size(); ++i) EXPECT_EQ(x[i], before[i]);
}

INSTANTIATE_TEST_SUITE_P(All, StopsOnTheDevice,
                         testing::Values("ss-esoap", "sgd", "muon", "shampoo", "multiadam"), name_of);

}  // namespace
}  // namespace lather::optim
