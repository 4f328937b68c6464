// Changes of basis on the device: how often its eigensolver is called, and what happens when it fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "emulator.hpp"
#include "gpu/cuda/device_stream.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "optim/ss_esoap_literal.hpp"

namespace lather::optim {
namespace {

using namespace testing_support;

// The factors of a single gradient matrix on its diagonal are diagonal: its layer never needs another basis.
class OneLayerTurns final : public GivenGradients {
 public:
  explicit OneLayerTurns(const ParameterLayout& layout) : GivenGradients(layout) {}
  void refresh() override {
    GivenGradients::refresh();
    const auto& calm = layout().blocks()[0];
    std::vector<double> diagonal(calm.size());
    for (std::size_t i = 0; i < calm.rows; ++i) diagonal[i * calm.cols + i] = 1;
    upload(diagonal, calm.offset);
  }
};

TEST(EmulatedEigensolver, IsCalledForTheLayersThatChangeOnly) {
  ParameterLayout layout;
  layout.add_matrix("calm", 5, 5);
  layout.add_matrix("turning", 5, 5);
  OneLayerTurns objective(layout);
  const auto optimizer =
      make_composed(layout, optimizer_spec({{"name", "ss-esoap"}, {"trigger", 0.05}}), Device::cuda);
  auto x = normal_numbers(1, 1, layout.size());
  int changes = 0;
  const int before = emulator::matrices_diagonalized;
  for (int t = 0; t < 10; ++t) {
    const auto report = optimizer->step(objective, x);
    ASSERT_EQ(report.status, Status::running);
    ASSERT_LE(report.basis_updates, 1);
    changes += report.basis_updates;
  }
  EXPECT_GT(changes, 3);
  EXPECT_EQ(emulator::matrices_diagonalized - before, 2 * changes);  // left and right
}

// The first layer has no gradient except for some steps in the middle.
class ALayerWakesUp final : public GivenGradients {
 public:
  explicit ALayerWakesUp(const ParameterLayout& layout) : GivenGradients(layout) {}
  void refresh() override {
    GivenGradients::refresh();
    const auto& asleep = layout().blocks()[0];
    if (const int step = steps_++; step < 8 || step > 12)
      upload(std::vector<double>(asleep.size()), asleep.offset);
  }

 private:
  int steps_ = 0;
};

// More matrices at once need more workspace. What was captured with the smaller one is launched again later.
TEST(EmulatedEigensolver, FindsItsWorkspaceWhereAGraphWasCapturedWithIt) {
  ParameterLayout layout;
  layout.add_matrix("asleep", 5, 5);
  layout.add_matrix("turning", 5, 5);
  ALayerWakesUp objective(layout);
  const auto optimizer =
      make_composed(layout, optimizer_spec({{"name", "ss-esoap"}, {"trigger", 0.01}}), Device::cuda);
  auto x = normal_numbers(1, 1, layout.size());
  int most = 0, last = 0;
  const int before = emulator::illegal_accesses;
  for (int t = 0; t < 20; ++t) {
    const auto report = optimizer->step(objective, x);
    ASSERT_EQ(report.status, Status::running);
    most = std::max(most, last = report.basis_updates);
  }
  EXPECT_EQ(most, 2);
  EXPECT_EQ(last, 1);
  EXPECT_EQ(emulator::illegal_accesses, before);
}

struct FailingDimension {
  explicit FailingDimension(int d) { emulator::failing_dimension = d; }
  ~FailingDimension() { emulator::failing_dimension = 0; }
};

// Its basis is kept and its side of the variance stays in order, whatever happens to the other side.
TEST(EmulatedEigensolver, ASideWhoseEigenvectorsAreNotFoundStaysAsItIs) {
  const FailingDimension left(6);
  for (const char* transition : {"permute", "downscale", "reproject-squared"}) {
    const nlohmann::json settings{{"variance_transition", transition}, {"warmup_steps", 6}};
    ParameterLayout layout;
    layout.add_matrix("W", 6, 4);
    SsEsoapOptions options;
    options::set_all(options, "ss-esoap", settings);
    GivenGradients on_device(layout), again(layout);
    const auto& entry = find_optimizer("ss-esoap");
    const auto optimizer = entry.construct_on_device(layout, entry.options(settings));
    auto x = normal_numbers(1, 1, layout.size());
    SsEsoapLiteral literal(Eigen::Map<const Mat>(x.data(), 6, 4), options);
    literal.left_fails = true;
    int failures = 0;
    for (int t = 0; t < 12; ++t) {
      Mat G(6, 4);
      again.value_and_gradient(x, {G.data(), layout.size()});
      literal.step(G);
      const auto report = optimizer->step(on_device, x);
      failures += report.message.find("eigenbasis could not be computed") != std::string::npos;
      const Eigen::Map<const Mat> W(x.data(), 6, 4);
      EXPECT_LT((W - literal.W).norm(), 1e-12 * literal.W.norm()) << transition << " " << t;
    }
    EXPECT_GT(failures, 3);
  }
}

}  // namespace
}  // namespace lather::optim
