// What Ctrl-C, SIGTERM and a limit of time do to a command in the middle of a long step.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../train/small_problem.hpp"
#include "process.hpp"

namespace lather::testing {
namespace {

// One step takes many seconds; the command says that it begins.
std::vector<std::string> long_steps(const TemporaryFolder& folder, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"train",       write_small_problem(folder.path()).string(),
                                     "--steps",     "5",
                                     "--threads",   "1",
                                     "--out",       (folder / "run").string(),
                                     "--set",       "network.width=400",
                                     "--set",       "network.depth=3",
                                     "--set",       "training.points.interior=6000",
                                     "--set",       "training.points.initial=1000",
                                     "--set",       "training.reference=false",
                                     "--optimizer", "lm"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return lather_command(arguments);
}

bool trains(const TemporaryFolder& folder) {  // its inputs are kept, so it measures and takes its first step
  return std::filesystem::exists(folder / "run" / "timing.csv") &&
         std::filesystem::file_size(folder / "run" / "timing.csv") > 0;
}

constexpr double kLong = 15;  // seconds; an uninterrupted step takes longer

TEST(Interrupt, EndsALongStepAndTheRunGoesOnFromBeforeIt) {
  const TemporaryFolder folder;
  Process process(long_steps(folder));
  ASSERT_TRUE(wait_until([&] { return trains(folder); }));
  process.send(SIGTERM);
  process.send(SIGTERM);  // `timeout` sends it to the process and to its group
  ASSERT_TRUE(wait_until([&] { return !process.running(); }, kLong));
  const Finished ended = process.wait();
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_TRUE(contains(ended.err, "interrupted at step 0 and saved; resume with: lather train --resume "))
      << ended.err;
  const auto summary = nlohmann::json::parse(content(folder / "run" / "summary.json"));
  EXPECT_EQ(summary["reason"], "interrupted");
  Process resumed(lather_command({"train", "--resume", (folder / "run").string(), "--time", "0.1"}));
  ASSERT_TRUE(wait_until([&] { return !resumed.running(); }, 2 * kLong));
  const Finished again = resumed.wait();
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_TRUE(contains(again.out, "time limit (0.1 s) reached")) << again.out;
}

TEST(Interrupt, OfTheFirstRankEndsALongStepOnAllRanks) {
  const TemporaryFolder folder;
  Process process(long_steps(folder, {"--ranks", "2"}));
  ASSERT_TRUE(wait_until([&] { return trains(folder); }));
  process.send(SIGINT);
  ASSERT_TRUE(wait_until([&] { return !process.running(); }, kLong));
  const Finished ended = process.wait();
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_TRUE(contains(ended.err, "interrupted at step 0 and saved")) << ended.err;
}

TEST(Interrupt, EndsTheWatcherAtOnce) {
  const TemporaryFolder folder;
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(lather_command({"watch", folder.path().string(), "--port", "0"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    process.send(signal);
    ASSERT_TRUE(wait_until([&] { return !process.running(); }, kLong));
  }
}

}  // namespace
}  // namespace lather::testing
