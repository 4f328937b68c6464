// Networks in which only the output layer is trained.
#include <gtest/gtest.h>

#include "lather/core/error.hpp"
#include "staged_runs.hpp"

namespace lather::train {
namespace {

using test::staged;
using testing::TemporaryFolder;

const std::vector<pde::Override> kFeatures = {
    {"network.train", "output"},       {"network.initialization", "features"},
    {"network.activation", "sin"},     {"network.depth", "1"},
    {"network.width", "120"},          {"training.points.interior", "400"},
    {"training.points.initial", "80"}, {"training.points.walls", "80"},
    {"training.sampling.every", "0"},  {"training.steps", "12"}};

std::vector<pde::Override> with(const std::vector<pde::Override>& more) {
  auto all = kFeatures;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(FixedFeatures, AreNoParametersAndStayAsTheyWereDrawn) {
  TemporaryFolder folder;
  Trainer trainer(staged(folder.path(), kFeatures, "gauss-newton"));
  EXPECT_EQ(trainer.parameters().size(), 121u);
  auto objective = trainer.solution().pieces()[0].objective;
  const std::vector<double> drawn(objective->frozen().begin(), objective->frozen().end());
  EXPECT_EQ(drawn.size(), 3 * 120u);
  for (const double w : drawn) EXPECT_LE(std::abs(w), 4.0);  // feature_scale, two inputs
  trainer.advance();
  objective = trainer.solution().pieces()[0].objective;
  EXPECT_EQ(drawn, std::vector<double>(objective->frozen().begin(), objective->frozen().end()));
}

TEST(FixedFeatures, SolveALinearProblemInOneStep) {
  TemporaryFolder folder;
  Trainer trainer(staged(folder.path(), kFeatures, "gauss-newton"));
  trainer.advance();
  EXPECT_LT(trainer.loss(), 1e-10);
}

TEST(FixedFeatures, GoFromWindowToWindow) {
  TemporaryFolder folder;
  Trainer trainer(staged(folder.path(), with({{"training.time_windows", "2"}}), "gauss-newton"));
  while (trainer.stage() < 1) trainer.advance();
  EXPECT_LT(trainer.loss(), 1e-10);
}

TEST(FixedFeatures, HaveAScaleForEveryInput) {
  TemporaryFolder folder;
  Trainer trainer(staged(folder.path(), with({{"network.input_scales", "[1, 0.1]"}}), "gauss-newton"));
  const auto weights = trainer.solution().pieces()[0].objective->frozen();
  double of_x = 0, of_t = 0;
  for (std::size_t j = 0; j < 120; ++j) {
    of_x = std::max(of_x, std::abs(weights[j]));
    of_t = std::max(of_t, std::abs(weights[120 + j]));
  }
  EXPECT_GT(of_x, 3);
  EXPECT_GT(of_t, 0.3);
  EXPECT_LE(of_t, 0.4);
}

TEST(FixedFeatures, RefuseWhatWouldBeIgnored) {
  TemporaryFolder folder;
  const auto message = [&](const std::vector<pde::Override>& more) {
    try {
      Trainer trainer(staged(folder.path(), with(more), "gauss-newton"));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message({{"network.input_scales", "[1, 1, 1]"}}).find("one for each of 2 inputs"),
            std::string::npos);
  EXPECT_NE(message({{"network.initialization", "glorot"}, {"network.input_scales", "[1, 1]"}})
                .find("initialization=features"),
            std::string::npos);
  EXPECT_NE(message({{"network.frequency_trainable", "true"}}).find("train=output"), std::string::npos);
}

}  // namespace
}  // namespace lather::train
