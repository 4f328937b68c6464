#include <nlohmann/json.hpp>

#include "kill_and_resume.hpp"

namespace lather::testing {
namespace {

TEST(Resume, AfterKill9WithSsEsoapIsBitForBit) { kill_and_resume("ss-esoap", 4, "1", 1); }
TEST(Resume, AfterKill9WithLbfgsIsBitForBit) { kill_and_resume("lbfgs", 4, "7", 2); }

TEST(Resume, AfterCtrlCIsBitForBitAndTheMessageSaysHow) {
  TemporaryFolder folder;
  const std::string problem = write_small_problem(folder.path()).string();
  const auto command = [&](const std::string& out) {
    return std::vector<std::string>{"train",       problem,
                                    "--optimizer", "soap",
                                    "--threads",   "1",
                                    "--steps",     "3000",
                                    "--set",       "training.record_every=1",
                                    "--set",       "training.checkpoint_every=0",
                                    "--out",       (folder / out).string()};
  };
  ASSERT_EQ(lather(command("whole")).status, 0);
  Process process(lather_command(command("stopped")));
  ASSERT_TRUE(wait_until([&] { return content(folder / "stopped" / "history.csv").size() > 2000; }));
  process.send(SIGINT);
  const Finished stopped = process.wait();
  EXPECT_EQ(stopped.status, 130);
  EXPECT_TRUE(contains(stopped.err, "lather train --resume " + (folder / "stopped").string())) << stopped.err;
  const Finished resumed = lather({"train", "--resume", (folder / "stopped").string()});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  expect_same_runs(folder / "whole", folder / "stopped");
}

TEST(Resume, MayGoFurtherThanPlanned) {
  TemporaryFolder folder;
  const std::string problem = write_small_problem(folder.path()).string();
  const std::string run = (folder / "run").string();
  ASSERT_EQ(lather({"train", problem, "--steps", "20", "--quiet", "--out", run}).status, 0);
  const Finished more = lather({"train", "--resume", run, "--steps", "50", "--json"});
  EXPECT_EQ(more.status, 0) << more.err;
  EXPECT_EQ(nlohmann::json::parse(more.out)["step"], 50);
}

}  // namespace
}  // namespace lather::testing
