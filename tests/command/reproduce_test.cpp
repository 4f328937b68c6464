// `lather reproduce` killed and started again.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "process.hpp"

namespace lather::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExperiment = R"(
name = "killed"
title = "Killed"
claim = "None."

[settings]
optimizer.learning_rate = 1e-2

[[problem]]
name = "heat-1d"
settings.network.width = 6
settings.network.depth = 2
settings.training.points.interior = 64
settings.training.points.initial = 16
settings.training.points.walls = 16
settings.training.checkpoint_every = 50
settings.training.reference = false

[[problem]]
name = "matrix"
task = "quadratic"
settings.task.size = "small"

[[variant]]
name = "adam"

[[variant]]
name = "ss-esoap"

[[metric]]
quantity = "loss"

[[metric]]
quantity = "task.gap"

[budget.quick]
steps = 400
seeds = 3
)";

bool has_ended(const fs::path& run) {
  const auto summary = nlohmann::json::parse(content(run / "summary.json"), nullptr, false);
  return summary.is_object() && summary.value("reason", "") != "interrupted";
}

// When the runs that have ended did so.
std::map<std::string, fs::file_time_type> ended_runs(const fs::path& out) {
  std::map<std::string, fs::file_time_type> ended;
  std::error_code none_yet;
  for (const auto& run : fs::directory_iterator(out / "runs", none_yet))
    if (has_ended(run.path()))
      ended[run.path().filename().string()] = fs::last_write_time(run.path() / "summary.json");
  return ended;
}

bool one_is_under_way(const fs::path& out) {
  std::error_code none_yet;
  for (const auto& run : fs::directory_iterator(out / "runs", none_yet))
    if (fs::exists(run.path() / "config.json") && !has_ended(run.path())) return true;
  return false;
}

std::map<std::string, std::string> histories(const fs::path& out) {
  std::map<std::string, std::string> texts;
  for (const auto& run : fs::directory_iterator(out / "runs"))
    texts[run.path().filename().string()] = content(run.path() / "history.jsonl");
  return texts;
}

constexpr std::size_t kRuns = 12;

// Once some runs have ended and another is under way; false: it was faster.
bool kill_midway(const std::vector<std::string>& command, const fs::path& out) {
  Process process(lather_command(command));
  wait_until([&] { return (!ended_runs(out).empty() && one_is_under_way(out)) || !process.running(); });
  process.send(SIGKILL);
  return process.wait().status == -SIGKILL && ended_runs(out).size() < kRuns;
}

TEST(ReproduceCommand, AfterKill9GoesOnWithoutRepeatingRunsThatHaveEnded) {
  const TemporaryFolder folder;
  std::ofstream(folder / "killed.toml") << kExperiment;
  const auto command = [&](const std::string& out) {
    return std::vector<std::string>{"reproduce",
                                    (folder / "killed.toml").string(),
                                    "--jobs",
                                    "2",
                                    "--quiet",
                                    "--out",
                                    (folder / out).string()};
  };
  const Finished whole = lather(command("whole"));
  ASSERT_EQ(whole.status, 0) << whole.err;
  const fs::path out = folder / "killed";
  bool killed = kill_midway(command("killed"), out);
  for (int attempt = 1; !killed && attempt < 10; ++attempt) {
    fs::remove_all(out);
    killed = kill_midway(command("killed"), out);
  }
  ASSERT_TRUE(killed);
  const auto before = ended_runs(out);
  const Finished rest = lather(command("killed"));
  EXPECT_EQ(rest.status, 0) << rest.err;
  auto after = ended_runs(out);
  EXPECT_EQ(after.size(), kRuns);
  for (const auto& [run, time] : before) EXPECT_EQ(after[run], time) << run;
  EXPECT_EQ(histories(out), histories(folder / "whole"));
}

}  // namespace
}  // namespace lather::testing
