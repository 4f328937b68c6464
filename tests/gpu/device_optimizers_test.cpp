// Optimizers on the GPU, with gradients from the engine. Their steps are compared with the host's on given
// gradients: cuda/optimizer_steps_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpu/optimizer_cases.hpp"
#include "gpu/require_gpu.hpp"
#include "lather/core/error.hpp"
#include "lather/core/rng.hpp"
#include "lather/core/state.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/kronecker/basis_log.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"

namespace lather::optim {
namespace {

using Json = nlohmann::json;

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

class OnTheDevice : public testing::TestWithParam<testing_support::Case> {};

// Gradients of the same engine at parameters that differ by
// rounding: so do the steps of methods without eigenvectors.
class ElementwiseOnTheDevice : public testing::TestWithParam<const char*> {};

TEST_P(ElementwiseOnTheDevice, FollowsTheHostThroughTraining) {
  REQUIRE_GPU();
  Training setup;
  const Json settings{{"name", GetParam()}};
  const auto host = make_composed(setup.objective.layout(), optimizer_spec(settings));
  const auto device = make_composed(setup.objective.layout(), optimizer_spec(settings), Device::cuda);
  const auto on_host = train(*host, setup, setup.x, 12), on_device = train(*device, setup, setup.x, 12);
  EXPECT_LT(deviation(on_device, on_host, setup.x), 1e-11);
}

INSTANTIATE_TEST_SUITE_P(All, ElementwiseOnTheDevice, testing::Values("adam", "sgd", "muon", "multiadam"));

// An optimizer that ran on the host could not tell an objective on the GPU from any other.
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
  const auto device = make_composed(flat.layout(), optimizer_spec(GetParam().settings), Device::cuda);
  EXPECT_THROW(device->step(flat, setup.x), Error);
}

TEST_P(OnTheDevice, GivesTheSameBitsHoweverManyStepsAreLaunchedAtOnce) {
  REQUIRE_GPU();
  Training setup;
  const auto single =
      make_composed(setup.objective.layout(), optimizer_spec(GetParam().settings), Device::cuda);
  const auto rows =
      make_composed(setup.objective.layout(), optimizer_spec(GetParam().settings), Device::cuda);
  EXPECT_EQ(train(*single, setup, setup.x, 400),
            train(*rows, setup, setup.x, 400, 150));  // rows of 16 from step 256 on
}

// Every change is logged once, wherever in a row of steps it happened.
TEST(BasisLogOnTheDevice, IsTheSameHoweverManyStepsAreLaunchedAtOnce) {
  REQUIRE_GPU();
  Training setup;
  const auto gather = [&](std::size_t row) {
    const auto optimizer =
        make_composed(setup.objective.layout(), optimizer_spec({{"name", "ss-esoap"}}), Device::cuda);
    std::vector<double> x = setup.x, losses;
    std::vector<std::pair<std::int64_t, std::string>> events;
    std::vector<std::pair<double, std::optional<double>>> fits;
    for (std::size_t left = 400; left > 0;) {
      std::int64_t done = 0;
      const std::vector<double> factors(std::min(left, row), 1.0);
      optimizer->steps(setup.objective, x, factors, done);
      const BasisLog& log = *basis_log_of(*optimizer);
      for (const auto& event : log.events) events.emplace_back(event.step, event.block);
      for (const auto& fit : log.fits)
        fits.emplace_back(
            fit.rho, std::isnan(fit.gradient_cosine) ? std::nullopt : std::optional(fit.gradient_cosine));
      losses.insert(losses.end(), log.losses.begin(), log.losses.end());
      left -= static_cast<std::size_t>(done);
    }
    std::vector<double> counts;
    for (const auto& layer : basis_log_of(*optimizer)->tau)
      counts.insert(counts.end(), std::begin(layer.counts), std::end(layer.counts));
    return std::tuple(events, losses, counts, fits);
  };
  const auto single = gather(1), rows = gather(150);
  EXPECT_GT(std::get<0>(single).size(), 4U);
  EXPECT_EQ(std::get<1>(single).size(), 400U);
  EXPECT_EQ(std::get<3>(single).size(), 400 * 4U);  // weights of three hidden layers and the output
  EXPECT_EQ(rows, single);
}

TEST_P(OnTheDevice, GoesOnBitForBitFromASavedState) {
  REQUIRE_GPU();
  Training setup;
  const auto whole =
      make_composed(setup.objective.layout(), optimizer_spec(GetParam().settings), Device::cuda);
  const auto first =
      make_composed(setup.objective.layout(), optimizer_spec(GetParam().settings), Device::cuda);
  const auto second =
      make_composed(setup.objective.layout(), optimizer_spec(GetParam().settings), Device::cuda);
  const auto expected = train(*whole, setup, setup.x, 24);
  const auto middle = train(*first, setup, setup.x, 11);
  StateWriter writer;
  first->state(writer);
  StateReader reader(writer.bytes());
  second->state(reader);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(train(*second, setup, middle, 13), expected);
}

INSTANTIATE_TEST_SUITE_P(All, OnTheDevice, testing::ValuesIn(testing_support::optimizer_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

std::string name_of(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

// Two engines, and line searches amplify rounding: few steps are compared. The memory of these methods alone:
// cuda/quasi_newton_memory_test.cpp.
class QuasiNewtonOnTheDevice : public testing::TestWithParam<const char*> {};

TEST_P(QuasiNewtonOnTheDevice, TakesTheStepsOfTheHost) {
  REQUIRE_GPU();
  Training on_device;
  pde::PinnObjective on_host(on_device.objective.problem());
  on_host.set_frozen(on_device.objective.frozen());
  for (int set = 0; set < 2; ++set) on_host.set_points(set, on_device.objective.points(set));
  const Json settings{{"name", GetParam()}};
  const auto host = make_composed(on_host.layout(), optimizer_spec(settings)),
             device = make_composed(on_host.layout(), optimizer_spec(settings), Device::cuda);
  auto a = on_device.x, b = on_device.x;
  for (int t = 0; t < 5; ++t) {
    EXPECT_EQ(host->step(on_host, a).status, Status::running);
    EXPECT_EQ(device->step(on_device.objective, b).status, Status::running);
  }
  EXPECT_LT(deviation(b, a, on_device.x), 1e-7);
}

INSTANTIATE_TEST_SUITE_P(All, QuasiNewtonOnTheDevice,
                         testing::Values("lbfgs", "bfgs", "ss-bfgs", "ss-broyden", "lm"), name_of);

// A step that ends in a NaN changes nothing but the count.
class StopsOnTheDevice : public testing::TestWithParam<const char*> {};

TEST_P(StopsOnTheDevice, AtAGradientThatIsNotFinite) {
  REQUIRE_GPU();
  Training setup;
  const auto device =
      make_composed(setup.objective.layout(), optimizer_spec({{"name", GetParam()}}), Device::cuda);
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
