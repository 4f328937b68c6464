#pragma once
// A run that is repeatedly killed at random moments and resumed must equal the run that was left alone.

#include <gtest/gtest.h>

#include <random>

#include "lather/train/run.hpp"
#include "lather/train/saved_run.hpp"
#include "process.hpp"

namespace lather::testing {

inline const std::vector<std::string> kEverythingMoves = {
    "--set", "training.sampling={method = \"adaptive\", every = 25}",
    "--set", "training.weighting={method = \"ntk\", every = 40}",
    "--set", "training.record_every=2",
    "--set", "training.validate_every=20"};

inline void expect_same_runs(const std::filesystem::path& a, const std::filesystem::path& b) {
  for (const char* file : {"history.jsonl", "history.csv", "diagnostics.jsonl"})
    EXPECT_EQ(content(a / file), content(b / file)) << file;
  std::vector<std::string> messages;
  const auto one = train::read_run(a, messages), other = train::read_run(b, messages);
  EXPECT_EQ(one->step(), other->step());
  EXPECT_TRUE(std::equal(one->parameters().begin(), one->parameters().end(), other->parameters().begin(),
                         other->parameters().end()));
  EXPECT_TRUE(messages.empty());
}

// Every other kill hits the writing of a checkpoint: it comes as soon as the temporary file appears. The
// others come at a random moment after a checkpoint. Returns how many left a half-written checkpoint behind.
inline int kill_and_resume(const std::string& optimizer, int kills, const std::string& checkpoint_every,
                           unsigned seed) {
  TemporaryFolder folder;
  const std::string problem = write_small_problem(folder.path()).string();
  std::vector<std::string> common = {"train",
                                     problem,
                                     "--optimizer",
                                     optimizer,
                                     "--steps",
                                     "200",
                                     "--threads",
                                     "1",
                                     "--quiet",
                                     "--set",
                                     "training.checkpoint_every=" + checkpoint_every};
  common.insert(common.end(), kEverythingMoves.begin(), kEverythingMoves.end());
  const auto with_out = [&](const std::string& out) {
    auto command = common;
    command.insert(command.end(), {"--out", (folder / out).string()});
    return command;
  };
  const Finished whole = lather(with_out("whole"));
  EXPECT_EQ(whole.status, 0) << whole.err;

  std::mt19937 random(seed);
  const auto newest = [&] {
    const auto files = train::CheckpointStore(folder / "killed" / "checkpoints").files();
    return files.empty() ? std::string() : files[0].filename().string();
  };
  const auto half_written = [&] {
    std::error_code status;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "killed" / "checkpoints", status))
      if (entry.path().extension() == ".tmp") return true;
    return false;
  };
  int killed = 0, while_writing = 0;
  Finished last;
  for (int sitting = 0; sitting < 4 * kills + 10; ++sitting) {
    Process process(lather_command(
        sitting == 0
            ? with_out("killed")
            : std::vector<std::string>{"train", "--resume", (folder / "killed").string(), "--quiet"}));
    if (killed < kills) {
      if (sitting > 0 ||
          std::uniform_int_distribution<>(0, 1)(random)) {  // the first may come before any checkpoint
        const std::string before = newest();
        wait_until([&] { return newest() != before || !process.running(); });
      }
      if (killed % 2 == 0)
        std::this_thread::sleep_for(
            std::chrono::microseconds(std::uniform_int_distribution<>(0, 8000)(random)));
      else
        while (!half_written() && process.running()) {
        }
      process.send(SIGKILL);
    }
    last = process.wait();
    if (last.status == -SIGKILL) {
      ++killed;
      while_writing += half_written();
    } else if (last.status == 0) {
      break;
    } else if (sitting == 0 || !contains(last.err, "is not a run folder")) {
      ADD_FAILURE() << last.status << ": " << last.err;
      return while_writing;
    }
    if (!std::filesystem::exists(folder / "killed" / "config.json"))
      std::filesystem::remove_all(folder / "killed"), sitting = -1;  // killed before it began
  }
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(killed, kills) << "the run ended before it could be killed often enough";
  expect_same_runs(folder / "whole", folder / "killed");
  return while_writing;
}

}  // namespace lather::testing
