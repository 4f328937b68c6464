// Run folders that a stranger has made: links that lead elsewhere, FIFOs that nobody writes, escape sequences.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "process.hpp"

namespace lather::testing {
namespace {

namespace fs = std::filesystem;

class HostileFolder : public ::testing::Test {
 protected:
  HostileFolder() {
    const Finished trained =
        lather({"train", problem_, "--steps", "20", "--set", "training.checkpoint_every=10", "--set",
                "network.width=8", "--quiet", "--out", run_});
    EXPECT_EQ(trained.status, 0) << trained.err;
    std::ofstream(secret_) << kSecret;
  }
  // Whether the command ends, and that what it prints and writes holds nothing from elsewhere.
  Finished given(const std::vector<std::string>& arguments) {
    Process process(lather_command(arguments));
    EXPECT_TRUE(wait_until([&] { return !process.running(); })) << arguments[0] << " waits";
    const Finished done = process.wait();
    EXPECT_FALSE(contains(done.out + done.err, "secret")) << done.out << done.err;
    EXPECT_EQ(content(secret_), kSecret) << arguments[0];
    return done;
  }
  std::vector<std::vector<std::string>> commands() const {
    return {{"status", run_},
            {"status", run_, "--json"},
            {"report", run_, "--out", (folder_ / "page.html").string()},
            {"eval", run_},
            {"export", run_, "--format", "tensorboard", "--out", (folder_ / "board").string()},
            {"train", "--resume", run_, "--steps", "25", "--quiet"}};
  }

  static constexpr const char* kSecret = R"({"step": 1, "message": "secret"})";
  TemporaryFolder folder_;
  std::string problem_ = write_small_problem(folder_.path()).string(), run_ = (folder_ / "run").string();
  fs::path secret_ = folder_ / "elsewhere.json";
};

TEST_F(HostileFolder, HoldsNoCommandUpAndLeadsNoneElsewhere) {
  for (const char* name : {"config.json", "summary.json", "environment.json", "history.jsonl", "timing.csv",
                           "lock", "fields.json"}) {
    const fs::path file = fs::path(run_) / name, kept = folder_ / "kept";
    fs::rename(file, kept);
    for (const bool fifo : {true, false}) {
      fifo ? static_cast<void>(::mkfifo(file.c_str(), 0600)) : fs::create_symlink(secret_, file);
      for (const auto& arguments : commands()) {
        const Finished done = given(arguments);
        EXPECT_TRUE(done.status == 0 || done.status == 2) << done.status;
      }
      fs::remove(file);
    }
    fs::rename(kept, file);
  }
}

TEST_F(HostileFolder, IsNamedInWords) {
  const fs::path config = fs::path(run_) / "config.json";
  fs::rename(config, folder_ / "kept");
  ASSERT_EQ(::mkfifo(config.c_str(), 0600), 0);
  EXPECT_TRUE(contains(given({"eval", run_}).err, "config.json' is a FIFO, not a regular file"));
  EXPECT_TRUE(contains(given({"status", run_}).out, "config.json' is a FIFO"));
  fs::remove(config);
  fs::rename(folder_ / "kept", config);
  // Checkpoints would be written, and older ones deleted, where the link leads.
  fs::rename(fs::path(run_) / "checkpoints", folder_ / "checkpoints");
  fs::create_directory_symlink(folder_ / "checkpoints", fs::path(run_) / "checkpoints");
  const Finished resumed = given({"train", "--resume", run_, "--steps", "30", "--quiet"});
  EXPECT_EQ(resumed.status, 2);
  EXPECT_TRUE(contains(resumed.err, "checkpoints' is a link")) << resumed.err;
}

TEST_F(HostileFolder, OfSeveralRunsDoesNotLeadToOthers) {
  const fs::path several = folder_ / "several", own = folder_ / "own";
  fs::create_directories(several / "runs");
  fs::rename(run_, several / "a");
  fs::copy(several / "a", own, fs::copy_options::recursive);
  fs::create_directory_symlink(own, several / "b");
  const std::string page = (folder_ / "page.html").string();
  const Finished reported = given({"report", several.string(), "--out", page});
  EXPECT_EQ(reported.status, 0) << reported.err;
  EXPECT_TRUE(contains(reported.err, "leaving out 1 run reached by links")) << reported.err;
  EXPECT_EQ(given({"report", (several / "b").string(), "--out", page}).status, 0) << "named by the user";
}

TEST_F(HostileFolder, CannotCommandTheTerminal) {
  const std::string red = "\033[31m";
  const fs::path named = folder_ / ("run" + red);
  fs::rename(run_, named);
  const fs::path summary = named / "summary.json";
  std::string text = content(summary);
  text.replace(text.find("\"message\": \""), 12, "\"message\": \"\\u001b]0;owned\\u0007");
  std::ofstream(summary, std::ios::trunc) << text;
  const std::vector<std::vector<std::string>> all = {
      {"status", named.string()},
      {"report", named.string(), "--out", (folder_ / ("page" + red)).string()},
      {"train", "--resume", named.string(), "--steps", "22"},
      {"eval", named.string()},
      {"eval", (folder_ / ("none" + red)).string()},
      {"train", "no-such-problem" + red},
      {"trian" + red}};
  for (const auto& arguments : all) {
    const Finished done = given(arguments);
    EXPECT_FALSE(contains(done.out + done.err, "\033")) << arguments[0];
  }
  EXPECT_TRUE(contains(given({"status", named.string()}).out, "run\\u001b[31m"));
}

TEST_F(HostileFolder, LosesTheTemporaryFilesOfKilledWritersWhenItIsOpenedForWriting) {
  const std::string left = ".lather-0123456789abcdef.tmp";
  const std::vector<fs::path> all = {fs::path(run_) / left, fs::path(run_) / "checkpoints" / left};
  for (const auto& file : all) std::ofstream(file) << "x";
  EXPECT_EQ(given({"eval", run_}).status, 0);
  for (const auto& file : all) EXPECT_TRUE(fs::exists(file)) << "looking at a run removes nothing";
  EXPECT_EQ(given({"train", "--resume", run_, "--steps", "25", "--quiet"}).status, 0);
  for (const auto& file : all) EXPECT_FALSE(fs::exists(file)) << file;
}

TEST_F(HostileFolder, ProblemsMayComeThroughAFifo) {
  const fs::path fifo = folder_ / "problem";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string text = content(problem_);
  std::thread writer([&] { std::ofstream(fifo) << text; });
  const Finished trained = given({"train", fifo.string(), "--steps", "2", "--set", "network.width=8",
                                  "--quiet", "--out", (folder_ / "from-fifo").string()});
  writer.join();
  EXPECT_EQ(trained.status, 0) << trained.err;
}

}  // namespace
}  // namespace lather::testing
