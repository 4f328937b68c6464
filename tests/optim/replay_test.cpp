// Trajectories recorded from the reference implementations, replayed through ours.

#include "optim/replay/replay.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "paths.hpp"

namespace lather::optim {
namespace {

nlohmann::json read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return nlohmann::json::parse(stream);
}

std::vector<std::filesystem::path> gradient_replays() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(lather::test::source_path("tests/golden")))
    if (entry.path().extension() == ".json" && read(entry.path()).value("kind", "") == "gradient-replay")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Golden : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, TrajectoryIsReproducedWithinItsTolerance) {
  const auto result = replay_gradients(read(GetParam()));
  RecordProperty("deviation", nlohmann::json(result.deviation).dump());
  EXPECT_LE(result.deviation, result.tolerance) << result.optimizer << " at step " << result.worst_step;
}

INSTANTIATE_TEST_SUITE_P(Replay, Golden, ::testing::ValuesIn(gradient_replays()), [](const auto& info) {
  std::string name;
  for (const char c : info.param.stem().string())
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(GoldenFiles, AreAllThere) { EXPECT_EQ(gradient_replays().size(), 16u); }

// A replay that cannot fail would prove nothing.
TEST(GoldenFiles, AWrongHyperParameterIsNoticed) {
  for (const auto& file : gradient_replays()) {
    auto recorded = read(file);
    const char* key = recorded["hyper"].contains("momentum") ? "momentum" : "beta1";
    recorded["hyper"][key] = recorded["hyper"][key].get<double>() - 1e-3;
    EXPECT_FALSE(replay_gradients(recorded).passed()) << file;
  }
}

TEST(GoldenFiles, UnknownKeysAndBrokenShapesAreErrorsInWords) {
  auto recorded = read(lather::test::source_path("tests/golden/adam.json"));
  auto unknown_key = recorded;
  unknown_key["hyper"]["beta_1"] = 0.9;
  try {
    replay_gradients(unknown_key);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'beta1'"), std::string::npos) << e.what();
  }
  auto short_gradient = recorded;
  short_gradient["gradients"][3][2].erase(0);
  EXPECT_THROW(replay_gradients(short_gradient), Error);
  auto other_method = recorded;
  other_method["case"] = "lion";
  other_method["reference"] = "Lion";
  EXPECT_THROW(replay_gradients(other_method), Error);
  auto scalar = recorded;
  scalar["shapes"] = nlohmann::json::parse("[[]]");
  scalar["init"] = {1.0};
  scalar["gradients"] = {{2.0}};
  scalar["parameters"] = {{1.0 - 0.01 * 2.0 / (2.0 + 1e-8)}};
  EXPECT_TRUE(replay_gradients(scalar).passed());
}

}  // namespace
}  // namespace lather::optim
