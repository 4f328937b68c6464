// Things go wrong: which message, which exit status, and that nothing saved is lost.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lather/train/run.hpp"
#include "process.hpp"
#include "small_disk.hpp"

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
  EXPECT_TRUE(contains(resume().err, "config.json' is damaged or not valid JSON")) << resume().err;

  auto json = nlohmann::json::parse(whole);
  json["seed"] = 99;  // a different run from the checkpoints'
  overwrite(config, json.dump());
  EXPECT_EQ(resume().status, 2);
  EXPECT_TRUE(contains(resume().err, "another configuration")) << resume().err;

  json.erase("stop");
  overwrite(config, json.dump());
  EXPECT_TRUE(contains(resume().err, "the configuration is damaged")) << resume().err;

  overwrite(config, whole);
  EXPECT_EQ(resume().status, 0);
}

TEST_F(Fault, ACheckpointThatDoesNotFitEndsTheRunWithAMessageAndLosesNothing) {
  const auto before = checkpoints();
  const std::string history = content(fs::path(run_) / "history.csv");
  Surroundings full;         // needs no privileges, so it runs everywhere
  full.largest_file = 4096;  // a checkpoint does not fit
  const Finished resumed = resume(full);
  EXPECT_EQ(resumed.status, 2) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "cannot write")) << resumed.err;
  EXPECT_EQ(checkpoints(), before);
  EXPECT_TRUE(content(fs::path(run_) / "history.csv").starts_with(history));
  EXPECT_EQ(resume().status, 0);
}

TEST_F(Fault, AHistoryThatIsADeviceOrLeadsElsewhereEndsTheRun) {
  const fs::path history = fs::path(run_) / "history.jsonl";
  const std::string lines = content(history);
  fs::remove(history);
  fs::create_symlink("/dev/full", history);
  const Finished resumed = resume();
  EXPECT_EQ(resumed.status, 2);
  EXPECT_TRUE(contains(resumed.err, "history.jsonl' is a link")) << resumed.err;
  EXPECT_EQ(checkpoints().size(), 2u);
  fs::remove(history);
  overwrite(history, lines);
  EXPECT_EQ(resume().status, 0);
}

TEST_F(Fault, AHistoryThatHoldsSomethingElseIsSaid) {
  const fs::path history = fs::path(run_) / "history.jsonl";
  overwrite(history, std::string(fs::file_size(history), '\0'));
  const Finished resumed = resume();
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "or damaged: lines before it are lost")) << resumed.err;
}

class FaultyDisk : public Fault {
 protected:
  void SetUp() override {
    if (!disk_.refusal().empty()) GTEST_SKIP() << "no disk of its own: " << disk_.refusal();
    fs::copy(run_, on_disk_, fs::copy_options::recursive);
  }
  Finished resume_on_disk(const std::string& steps = "60") {
    return lather({"train", "--resume", on_disk_.string(), "--steps", steps, "--quiet"});
  }
  // What can be read is unchanged, and the run goes on as if nothing had happened.
  void expect_nothing_lost() {
    const Finished resumed = resume_on_disk();
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(resume().status, 0);
    EXPECT_EQ(content(on_disk_ / "history.csv"), content(fs::path(run_) / "history.csv"));
  }
  SmallDisk disk_{folder_ / "disk", "8m"};  // fields.json, while it is replaced, takes two
  fs::path on_disk_ = folder_ / "disk" / "run";
};

TEST_F(FaultyDisk, ThatIsFullEndsTheRunAndKeepsEveryCheckpoint) {
  for (const std::uintmax_t left :
       {0, 4096, 12288}) {  // the logs, the environment or the checkpoint do not fit
    disk_.fill_up_to(left);
    const auto before = train::CheckpointStore(on_disk_ / "checkpoints").files();
    const Finished resumed = resume_on_disk("100000");
    EXPECT_EQ(resumed.status, 2) << left << ": " << resumed.err;
    EXPECT_TRUE(contains(resumed.err, "No space left on device")) << resumed.err;
    const Finished evaluated = lather({"eval", on_disk_.string()});
    EXPECT_EQ(evaluated.status, 0) << evaluated.err;
    EXPECT_EQ(evaluated.err, "") << "every checkpoint that is there is whole";
    EXPECT_GE(train::CheckpointStore(on_disk_ / "checkpoints").files().size(), before.size());
    disk_.empty_out();
  }
  expect_nothing_lost();
}

TEST_F(FaultyDisk, ThatFillsUpWhileTrainingLeavesTheLastCheckpoint) {
  disk_.fill_up_to(300000);
  const Finished trained =
      lather({"train", problem_, "--steps", "1000000", "--set", "training.checkpoint_every=10", "--set",
              "training.record_every=1", "--quiet", "--out", (folder_ / "disk" / "long").string()});
  EXPECT_EQ(trained.status, 2) << trained.err;
  EXPECT_TRUE(contains(trained.err, "No space left on device")) << trained.err;
  const Finished evaluated = lather({"eval", (folder_ / "disk" / "long").string()});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
}

TEST_F(FaultyDisk, ThatIsReadOnlyIsNamedAndCanStillBeRead) {
  disk_.make_read_only();
  const Finished resumed = resume_on_disk();
  EXPECT_EQ(resumed.status, 2);
  EXPECT_TRUE(contains(resumed.err, "Read-only file system")) << resumed.err;
  const Finished fresh =
      lather({"train", problem_, "--steps", "5", "--out", (folder_ / "disk" / "new").string()});
  EXPECT_EQ(fresh.status, 2);
  EXPECT_TRUE(contains(fresh.err, "cannot create the folder")) << fresh.err;
  EXPECT_EQ(lather({"eval", on_disk_.string()}).status, 0);
  const Finished page = lather({"report", on_disk_.string(), "--out", (folder_ / "page.html").string()});
  EXPECT_EQ(page.status, 0) << page.err;
  disk_.make_writable();
  expect_nothing_lost();
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
