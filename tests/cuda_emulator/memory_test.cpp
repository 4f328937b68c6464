// What happens when GPU memory runs short, on the emulated device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "lather/pde/objective.hpp"

namespace lather::pde {
namespace {

struct EmulatedBytes {
  explicit EmulatedBytes(std::size_t bytes) {
    setenv("LATHER_EMULATED_BYTES", std::to_string(bytes).c_str(), 1);
  }
  ~EmulatedBytes() { unsetenv("LATHER_EMULATED_BYTES"); }
};

Problem heat(std::int64_t width) {
  Problem p;
  p.symbols =
      std::make_shared<OutputSymbols>(*p.graph, std::vector<std::string>{"x"}, std::vector<std::string>{"u"});
  p.domain = {{0, 1}};
  p.network_inputs = {p.symbols->coordinate(0)};
  p.network = {.width = width, .depth = 2};
  p.point_sets.push_back({"interior", PointSet::Kind::interior, {}, {}, {}});
  p.terms.push_back(
      {"heat", 0, p.symbols->output(0, symbolic::MultiIndex{}.plus(0)) - p.symbols->output(0), 1});
  return p;
}

Points line(std::size_t count) {
  Points points;
  auto& x = points.coordinates.emplace_back(count);
  for (std::size_t k = 0; k < count; ++k) x[k] = Random(1, 1).uniform(k);
  return points;
}

TEST(Memory, IsBoundedByTakingThePointsInBatches) {
  const Problem problem = heat(32);
  constexpr std::size_t kFixed = 64 << 20;  // set aside for libraries
  std::vector<double> gradients[2];
  std::size_t bytes[2];
  for (int k = 0; k < 2; ++k) {
    const EmulatedBytes limit(kFixed + (k == 0 ? (200 << 20) : (3 << 20)));
    PinnObjective objective(problem, {.device = Device::cuda});
    const auto x = objective.initialize(1);
    objective.set_points(0, line(3000));
    gradients[k].resize(x.size());
    objective.value_and_gradient(x, gradients[k]);
    bytes[k] = objective.workspace_bytes();
  }
  EXPECT_GE(peak_device_memory_bytes(), bytes[0]);
  EXPECT_LT(bytes[1], bytes[0] / 2);
  EXPECT_LT(bytes[1], std::size_t(4) << 20);
  for (std::size_t i = 0; i < gradients[0].size(); ++i) EXPECT_NEAR(gradients[1][i], gradients[0][i], 1e-13);
}

TEST(Memory, ThatIsTooSmallForAnyBatchIsRefusedInWords) {
  const EmulatedBytes limit(65 << 20);
  PinnObjective objective(heat(2048), {.device = Device::cuda});
  try {
    objective.set_points(0, line(4000));
    FAIL() << "was accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("MiB"), std::string::npos) << e.what();
  }
}

// An inverse Hessian on the GPU is checked against the GPU's memory, and allocated only there.
TEST(Memory, OfADenseQuasiNewtonMethodIsThatOfTheDeviceItLiesOn) {
  optim::ParameterLayout layout;
  layout.add_vector("x", 1000);  // 8 MB
  {
    const EmulatedBytes limit(10 << 20);
    EXPECT_THROW(optim::make_composed(layout, optim::optimizer_spec({{"name", "bfgs"}}), Device::cuda),
                 Error);
    EXPECT_NO_THROW(optim::make_composed(layout, optim::optimizer_spec({{"name", "bfgs"}})));
  }
  layout.add_vector("y", 2000000);  // 32 TB, more than any host has
  const EmulatedBytes limit(std::size_t(1) << 47);
  EXPECT_NO_THROW(optim::make_composed(layout, optim::optimizer_spec({{"name", "bfgs"}}), Device::cuda));
  EXPECT_THROW(optim::make_composed(layout, optim::optimizer_spec({{"name", "bfgs"}})), Error);
}

}  // namespace
}  // namespace lather::pde
