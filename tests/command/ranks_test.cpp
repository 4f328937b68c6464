// Several processes train one network: histories are those of one process, whichever is killed, and when
// resumed on a different number.
#include <dirent.h>

#include "kill_and_resume.hpp"

namespace lather::testing {
namespace {

struct Training {
  std::string name, optimizer;
  std::vector<std::string> settings;
};

// Adaptive draws, NTK weights, windows: everything on which ranks must agree.
std::vector<Training> trainings() {
  return {{"adam", "adam", kEverythingMoves},
          {"ss-esoap", "ss-esoap", kEverythingMoves},
          {"lbfgs", "lbfgs", {"--set", "training.time_windows=2"}},
          {"kfac", "kfac", {}},
          {"lm", "lm", {"--set", "training.weighting={method = \"ntk\", every = 4}"}},
          {"lm-dual", "lm", {"--set", "optimizer.form=dual"}},
          {"lm-windows",
           "lm",
           {"--set", "training.time_windows=2", "--set",
            "training.sampling={method = \"adaptive\", every = 5}"}}};
}

class Ranks : public ::testing::Test {
 protected:
  std::vector<std::string> command(const Training& t, const std::string& out, int steps) const {
    std::vector<std::string> words = {
        "train",       problem_,
        "--optimizer", t.optimizer,
        "--threads",   "1",
        "--steps",     std::to_string(steps),
        "--set",       "training.record_every=1",
        "--set",       "training.points={interior = 64, initial = 16, walls = 16}",
        "--set",       "network.width=10",
        "--set",       "network.depth=2",
        "--out",       (folder_ / out).string(),
        "--quiet"};
    words.insert(words.end(), t.settings.begin(), t.settings.end());
    return words;
  }
  static std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> mpirun(int ranks, const std::vector<std::string>& words) const {
    std::vector<std::string> line = {lather::test::mpiexec_path(), "-n", std::to_string(ranks)};
    const auto lather = lather_command(words);
    line.insert(line.end(), lather.begin(), lather.end());
    return line;
  }
  // Open MPI: more ranks than cores, and root, are refused otherwise. It does not free all its memory, which
  // the sanitizer of a debug build would blame on us.
  static Surroundings crowded() {
    Surroundings s;
    s.environment = {{"ASAN_OPTIONS", "detect_leaks=0"},
                     {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                     {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                     {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                     {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                     {"OMPI_MCA_odls_base_sigkill_timeout", "5"}};
    return s;
  }
  TemporaryFolder folder_;
  std::string problem_ = write_small_problem(folder_.path()).string();
};

// Children of a process.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  DIR* processes = ::opendir("/proc");
  while (const dirent* entry = ::readdir(processes)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const std::string stat = content("/proc/" + std::string(entry->d_name) + "/stat");
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 4 >= stat.size()) continue;
    if (std::atol(stat.c_str() + name_end + 4) == parent)
      found.push_back(static_cast<pid_t>(std::atol(entry->d_name)));
  }
  ::closedir(processes);
  return found;
}

TEST_F(Ranks, WriteTheHistoryOfOneProcess) {
  for (const auto& t : trainings()) {
    const int steps = t.optimizer == "lm" || t.optimizer == "kfac" ? 10 : 60;
    const Finished one = lather(with(command(t, t.name + "-one", steps), {"--shards", "16"}));
    ASSERT_EQ(one.status, 0) << one.err;
    for (const int ranks : {2, 3}) {
      const std::string out = t.name + "-" + std::to_string(ranks);
      const Finished several = lather(with(command(t, out, steps), {"--ranks", std::to_string(ranks)}));
      ASSERT_EQ(several.status, 0) << several.err;
      EXPECT_EQ(several.err, "");
      expect_same_runs(folder_ / (t.name + "-one"), folder_ / out);
    }
  }
}

TEST_F(Ranks, EightOfThemWriteTheHistoryOfOneProcess) {
  const Training t = trainings()[1];
  ASSERT_EQ(lather(with(command(t, "one", 45), {"--shards", "16"})).status, 0);
  const Finished eight = lather(with(command(t, "eight", 45), {"--ranks", "8"}));
  ASSERT_EQ(eight.status, 0) << eight.err;
  expect_same_runs(folder_ / "one", folder_ / "eight");
}

TEST_F(Ranks, OfMpirunWriteTheHistoryOfOneProcess) {
  if (lather::test::mpiexec_path().empty()) GTEST_SKIP() << "no mpirun";
  const Training t = trainings()[1];
  ASSERT_EQ(lather(with(command(t, "one", 60), {"--shards", "16"})).status, 0);
  for (const int ranks : {1, 2, 3, 4}) {
    const std::string out = "mpi-" + std::to_string(ranks);
    const Finished several = Process(mpirun(ranks, command(t, out, 60)), crowded()).wait();
    ASSERT_EQ(several.status, 0) << several.err;
    expect_same_runs(folder_ / "one", folder_ / out);
  }
}

TEST_F(Ranks, AreResumedOnAnyOtherNumber) {
  const Training t = trainings()[1];
  ASSERT_EQ(lather(with(command(t, "whole", 60), {"--shards", "16"})).status, 0);
  ASSERT_EQ(lather(with(command(t, "parts", 20), {"--ranks", "2"})).status, 0);
  const std::string run = (folder_ / "parts").string();
  ASSERT_EQ(lather({"train", "--resume", run, "--steps", "40", "--ranks", "3", "--quiet"}).status, 0);
  const Finished last = lather({"train", "--resume", run, "--steps", "60", "--quiet"});
  ASSERT_EQ(last.status, 0) << last.err;
  expect_same_runs(folder_ / "whole", folder_ / "parts");
  // A run started without ranks keeps its numbers when continued on them.
  ASSERT_EQ(lather(command(t, "plain", 60)).status, 0);
  ASSERT_EQ(lather(command(t, "moved", 20)).status, 0);
  ASSERT_EQ(
      lather({"train", "--resume", (folder_ / "moved").string(), "--steps", "60", "--ranks", "2", "--quiet"})
          .status,
      0);
  expect_same_runs(folder_ / "plain", folder_ / "moved");
}

// Killing a rank ends the run cleanly: saved, with a message; resumed, it equals the run that was left alone.
TEST_F(Ranks, SaveTheRunWhenOneIsKilled) {
  const Training t = trainings()[1];
  const int steps = 3000;
  const auto long_run = [&](const std::string& out) {
    return with(command(t, out, steps),
                {"--set", "training.checkpoint_every=0", "--set", "training.reference=false"});
  };
  ASSERT_EQ(lather(with(long_run("whole"), {"--shards", "16"})).status, 0);
  for (const bool by_mpi : {false, true}) {
    if (by_mpi && lather::test::mpiexec_path().empty()) continue;
    const std::string out = by_mpi ? "mpi" : "forked";
    Process process(by_mpi ? mpirun(3, long_run(out)) : lather_command(with(long_run(out), {"--ranks", "3"})),
                    crowded());
    ASSERT_TRUE(wait_until([&] { return content(folder_ / out / "history.csv").size() > 5000; }));
    const auto ranks = children_of(process.pid());
    ASSERT_GE(ranks.size(), 2u);
    ::kill(*std::max_element(ranks.begin(), ranks.end()), SIGKILL);  // not rank 0
    const Finished ended = process.wait();
    EXPECT_NE(ended.status, 0);
    EXPECT_TRUE(contains(ended.err, "resume with: lather train --resume")) << ended.err;
    const Finished resumed =
        lather({"train", "--resume", (folder_ / out).string(), "--ranks", "2", "--quiet"});
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    expect_same_runs(folder_ / "whole", folder_ / out);
  }
}

TEST_F(Ranks, AllEndWhenTheFirstIsKilledOrInterrupted) {
  const Training t = trainings()[0];
  for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
    const std::string out = "signal-" + std::to_string(signal);
    Process process(lather_command(with(command(t, out, 100000), {"--ranks", "3"})));
    ASSERT_TRUE(wait_until([&] { return content(folder_ / out / "history.csv").size() > 5000; }));
    const auto others = children_of(process.pid());
    EXPECT_EQ(others.size(), 2u);
    process.send(signal);
    const Finished ended = process.wait();
    EXPECT_EQ(ended.status, signal == SIGKILL ? -SIGKILL : 130);
    if (signal != SIGKILL) {
      EXPECT_TRUE(contains(ended.err, "resume with")) << ended.err;
    }
    for (const pid_t other : others)
      EXPECT_TRUE(wait_until([&] { return ::kill(other, 0) != 0; }, 20))
          << "rank " << other << " is still there";
  }
}

TEST_F(Ranks, EndWithOneMessageWhenTheDiskIsFull) {
  Surroundings full;
  full.largest_file = 6000;
  const Finished ended = lather(with(command(trainings()[0], "full", 2000), {"--ranks", "3"}), full);
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(contains(ended.err, "lather: ")) << ended.err;
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
}

// Runs are dealt to ranks; if a rank is killed, another takes over its run.
TEST_F(Ranks, ShareTheRunsOfAComparison) {
  const auto comparison = [&](const std::string& out) {
    return std::vector<std::string>{"compare",
                                    problem_,
                                    "--optimizers",
                                    "adam,soap",
                                    "--seeds",
                                    "2",
                                    "--steps",
                                    "1500",
                                    "--set",
                                    "training.record_every=10",
                                    "--threads",
                                    "1",
                                    "--set",
                                    "training.points.interior=64",
                                    "--set",
                                    "network.width=10",
                                    "--quiet",
                                    "--out",
                                    (folder_ / out).string()};
  };
  ASSERT_EQ(lather(comparison("one")).status, 0);
  Process process(lather_command(with(comparison("two"), {"--ranks", "2"})));
  ASSERT_TRUE(wait_until([&] { return content(folder_ / "two" / "soap-0" / "history.csv").size() > 2000; }));
  const auto others = children_of(process.pid());
  ASSERT_EQ(others.size(), 1u);
  ::kill(others[0], SIGKILL);
  const Finished ended = process.wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  for (const char* run : {"adam-0", "adam-1", "soap-0", "soap-1"})
    expect_same_runs(folder_ / "one" / run, folder_ / "two" / run);
}

TEST_F(Ranks, SayOnceWhatIsWrong) {
  const Finished typo = lather({"train", problem_, "--optimizer", "admm", "--ranks", "3"});
  EXPECT_EQ(typo.status, 2);
  EXPECT_EQ(std::count(typo.err.begin(), typo.err.end(), '\n'), 1) << typo.err;
  const Finished few = lather({"train", problem_, "--shards", "2", "--ranks", "3"});
  EXPECT_TRUE(contains(few.err, "3 ranks need at least as many shards")) << few.err;
  const Finished alone = lather({"train", problem_, "--reduction", "nccl"});
  EXPECT_EQ(alone.status, 2);
  EXPECT_TRUE(contains(alone.err, "give --ranks")) << alone.err;
  const Finished on_cpu = lather({"train", problem_, "--ranks", "2", "--reduction", "nccl-sum", "--quiet"});
  EXPECT_EQ(on_cpu.status, 2);
  EXPECT_TRUE(contains(on_cpu.err, "this run is on the CPU")) << on_cpu.err;
}

TEST_F(Ranks, AreToldWhichNcclIsThere) {
  Surroundings nowhere;
  nowhere.environment = {{"LATHER_NCCL", "/nowhere/libnccl.so.2"}};
  const Finished missing = lather({"doctor"}, nowhere);
  EXPECT_EQ(missing.status, 0);
  EXPECT_TRUE(contains(missing.out, "NCCL was not found (/nowhere/libnccl.so.2") ||
              contains(missing.out, "built without CUDA"))
      << missing.out;
}

}  // namespace
}  // namespace lather::testing
