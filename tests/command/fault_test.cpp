// Things go wrong: what is said, with which status, and that nothing saved is lost.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lather/train/run.hpp"
#include "process.hpp"

namespace lather::testing {
namespace {

namespace fs = std::filesystem;

class Fault : public ::testing::Test {
 protected:
  Fault() {
    const Finished trained = lather({"train", problem_, "--steps", "30", "--set",
                                     "training.checkpoint_every=10", "--quiet", "--out", run_});
    EXPECT_EQ(trained.status, 0) << trained.err;
  }
  Finished resume(const Surroundings& s = {}, const std::string& steps = "60") {
    return lather({"train", "--resume", run_, "--steps", steps, "--quiet"}, s);
  }
  std::vector<fs::path> checkpoints() const {
    return train::CheckpointStore(fs::path(run_) / "checkpoints").files();
  }
  static void overwrite(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  TemporaryFolder folder_;
  std::string problem_ = write_small_problem(folder_.path()).string(), run_ = (folder_ / "run").string();
};

TEST_F(Fault, ATruncatedCheckpointIsPassedOverForThePreviousOne) {
  fs::resize_file(checkpoints()[0], fs::file_size(checkpoints()[0]) / 2);
  const Finished resumed = resume();
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "cut short")) << resumed.err;
  // The run that was never damaged:
  const std::string other = (folder_ / "other").string();
  EXPECT_EQ(lather({"train", problem_, "--steps", "30", "--set", "training.checkpoint_every=10", "--quiet",
                    "--out", other})
                .status,
            0);
  EXPECT_EQ(lather({"train", "--resume", other, "--steps", "60", "--quiet"}).status, 0);
  EXPECT_EQ(content(fs::path(run_) / "history.csv"), content(fs::path(other) / "history.csv"));
}

TEST_F(Fault, ABitFlipInACheckpointIsNoticed) {
  std::string bytes = content(checkpoints()[0]);
  bytes[bytes.size() / 2] ^= 16;
  overwrite(checkpoints()[0], bytes);
  const Finished evaluated = lather({"eval", run_});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_TRUE(contains(evaluated.err, "checksum")) << evaluated.err;
  EXPECT_TRUE(contains(evaluated.out, "step 20")) << evaluated.out;
}

TEST_F(Fault, WithoutAnyWholeCheckpointNothingIsDone) {
  for (const auto& file : checkpoints()) overwrite(file, "rubbish");
  const std::string history = content(fs::path(run_) / "history.csv");
  const Finished resumed = resume();
  EXPECT_EQ(resumed.status, 2);
  EXPECT_TRUE(contains(resumed.err, "no usable checkpoint")) << resumed.err;
  EXPECT_EQ(content(fs::path(run_) / "history.csv"), history);
}

TEST_F(Fault, ACorruptedConfigurationIsNamed) {
  const fs::path config = fs::path(run_) / "config.json";
  const std::string whole = content(config);
  overwrite(config, whole.substr(0, whole.size() / 2));
  EXPECT_EQ(resume().status, 2);
  EXPECT_TRUE(contains(resume().err, "config.json' is damaged or no JSON")) << resume().err;

  auto json = nlohmann::json::parse(whole);
  json["seed"] = 99;  // another run than the checkpoints are of
  overwrite(config, json.dump());
  EXPECT_EQ(resume().status, 2);
  EXPECT_TRUE(contains(resume().err, "another configuration")) << resume().err;

  json.erase("stop");
  overwrite(config, json.dump());
  EXPECT_TRUE(contains(resume().err, "the configuration is damaged")) << resume().err;

  overwrite(config, whole);
  EXPECT_EQ(resume().status, 0);
}

TEST_F(Fault, AFullDiskEndsTheRunWithAMessageAndLosesNothing) {
  const auto before = checkpoints();
  const std::string history = content(fs::path(run_) / "history.csv");
  Surroundings full;
  full.largest_file = 4096;  // a checkpoint does not fit
  const Finished resumed = resume(full);
  EXPECT_EQ(resumed.status, 2) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "cannot write")) << resumed.err;
  EXPECT_EQ(checkpoints(), before);
  EXPECT_TRUE(content(fs::path(run_) / "history.csv").starts_with(history));
  EXPECT_EQ(resume().status, 0);
}

TEST_F(Fault, AHistoryThatCannotBeWrittenEndsTheRun) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const fs::path history = fs::path(run_) / "history.jsonl";
  const std::string lines = content(history);
  fs::remove(history);
  fs::create_symlink("/dev/full", history);
  const Finished resumed = resume();
  EXPECT_EQ(resumed.status, 2);
  EXPECT_TRUE(contains(resumed.err, "history.jsonl': No space left")) << resumed.err;
  EXPECT_EQ(checkpoints().size(), 2u);
  fs::remove(history);
  overwrite(history, lines);
  EXPECT_EQ(resume().status, 0);
}

TEST_F(Fault, AReadOnlyFolderIsNamed) {
  // Root may write anywhere but into /proc; others may not write into a folder without the permission.
  const std::string place = ::geteuid() == 0 ? "/proc/run" : (folder_ / "sealed" / "run").string();
  if (::geteuid() != 0) {
    fs::create_directory(folder_ / "sealed");
    fs::permissions(folder_ / "sealed", fs::perms::owner_read | fs::perms::owner_exec);
  }
  const Finished trained = lather({"train", problem_, "--steps", "5", "--out", place});
  EXPECT_EQ(trained.status, 2);
  EXPECT_TRUE(contains(trained.err, "cannot create the folder")) << trained.err;
  if (::geteuid() != 0) fs::permissions(folder_ / "sealed", fs::perms::owner_all);
}

TEST_F(Fault, AFolderInUseIsLeftAloneAndThePidIsNamed) {
  Process first(lather_command({"train", "--resume", run_, "--steps", "10000000", "--quiet"}));
  ASSERT_TRUE(wait_until([&] { return content(fs::path(run_) / "lock") == std::to_string(first.pid()); }));
  const Finished second = resume();
  EXPECT_EQ(second.status, 2);
  EXPECT_TRUE(contains(second.err, "in use by process " + std::to_string(first.pid()))) << second.err;
}

TEST_F(Fault, AMissingOrUnwritableReferenceCacheIsNoReasonNotToTrain) {
  Surroundings nowhere;
  nowhere.environment = {{"LATHER_CACHE", "/proc/no/such/cache"}};
  const Finished trained = lather({"train", "kdv", "--steps", "2", "--set", "network.width=8", "--set",
                                   "training.points.interior=32", "--set", "reference.modes=64", "--set",
                                   "reference.tolerance=1e-4", "--json", "--out", (folder_ / "kdv").string()},
                                  nowhere);
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_TRUE(nlohmann::json::parse(trained.out)["final"].contains("l2")) << trained.out;
}

TEST_F(Fault, AReferenceThatCannotBeHadIsSaidAndTheRunGoesOn) {
  const Finished trained = lather({"train", "kdv", "--steps", "2", "--set", "network.width=8", "--set",
                                   "training.points.interior=32", "--set", "reference.mode=64", "--out",
                                   (folder_ / "kdv").string()});
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_TRUE(contains(trained.err, "errors cannot be measured") &&
              contains(trained.err, "did you mean 'modes'"))
      << trained.err;
}

TEST_F(Fault, AProblemWithoutAReferenceTrainsToo) {
  const std::string text = kSmallProblem;
  overwrite(folder_ / "bare.toml", text.substr(0, text.find("[reference]")));
  const Finished trained = lather({"train", (folder_ / "bare.toml").string(), "--steps", "5", "--json",
                                   "--out", (folder_ / "bare").string()});
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_FALSE(nlohmann::json::parse(trained.out)["final"].contains("l2"));
}

}  // namespace
}  // namespace lather::testing
