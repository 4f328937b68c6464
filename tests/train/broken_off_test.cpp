// A step that is broken off has not been taken: the run that is saved then and resumed equals the run that was
// never interrupted.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lather/core/interrupt.hpp"
#include "lather/train/saved_run.hpp"
#include "lather/train/session.hpp"
#include "small_problem.hpp"

namespace lather::train {
namespace {

using testing::content;
using testing::TemporaryFolder;

Config config_of(const std::filesystem::path& folder, const std::string& optimizer,
                 std::vector<pde::Override> settings) {
  ConfigRequest r;
  r.problem = testing::write_small_problem(folder).string();
  r.optimizer = optimizer;
  r.threads = 2;
  r.seed = 3;
  r.settings = std::move(settings);
  return resolve(r);
}

void expect_same_run(const std::filesystem::path& a, const std::filesystem::path& b) {
  for (const char* file : {"history.jsonl", "history.csv", "diagnostics.jsonl"})
    EXPECT_EQ(content(a / file), content(b / file)) << file;
  std::vector<std::string> messages;
  const auto one = read_run(a, messages), other = read_run(b, messages);
  EXPECT_EQ(one->step(), other->step());
  EXPECT_TRUE(std::ranges::equal(one->parameters(), other->parameters()));
}

class BrokenOff : public ::testing::TestWithParam<std::string> {};

// The stop falls due within a step, a little deeper in every sitting.
TEST_P(BrokenOff, GivesTheBitsOfTheUninterruptedRun) {
  const TemporaryFolder folder;
  const Config config = config_of(folder.path(), GetParam(),
                                  {{"training.steps", "12"},
                                   {"training.record_every", "2"},
                                   {"training.validate_every", "4"},
                                   {"training.checkpoint_every", "2"},
                                   {"training.sampling", "{method = \"adaptive\", every = 5}"},
                                   {"training.weighting", "{method = \"gradient-norm\", every = 3}"}});
  {
    auto whole = begin_session(config, folder / "whole");
    ASSERT_EQ(run(*whole.trainer, *whole.folder, {}).reason, EndReason::steps);
  }
  begin_session(config, folder / "pieces");
  auto reason = EndReason::interrupted;
  int broken_off = 0;
  for (int sitting = 0; reason == EndReason::interrupted && sitting < 100; ++sitting) {
    auto pieces = resume_session(folder / "pieces", {});
    Stop stop;
    Watcher watcher;
    watcher.stop = &stop;
    watcher.progress = [&, left = 3](const Progress&) mutable {
      if (--left == 0) stop.end_in(sitting % 10 * 2e-4);
    };
    reason = run(*pieces.trainer, *pieces.folder, watcher, pieces.seconds).reason;
    broken_off += reason == EndReason::interrupted;
  }
  EXPECT_EQ(reason, EndReason::steps);
  EXPECT_GT(broken_off, 0);
  expect_same_run(folder / "whole", folder / "pieces");
}

INSTANTIATE_TEST_SUITE_P(Optimizers, BrokenOff,
                         ::testing::Values("adam", "soap", "ss-esoap", "lbfgs", "ss-broyden", "lm", "kfac",
                                           "nncg"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Run, EndsWithinAStepThatTakesLongerThanTheTimeThatIsLeft) {
  const TemporaryFolder folder;
  Config config = config_of(folder.path(), "lm",
                            {{"training.steps", "3"},
                             {"network.width", "300"},
                             {"network.depth", "3"},
                             {"training.points.interior", "3000"},
                             {"training.reference", "false"}});
  config.stop.seconds = 0.1;
  auto session = begin_session(config, folder / "run");
  const Outcome outcome = run(*session.trainer, *session.folder, {});
  EXPECT_EQ(outcome.reason, EndReason::time);
  EXPECT_EQ(outcome.message, "time limit (0.1 s) reached within step 1, which was not completed");
  EXPECT_EQ(session.trainer->step(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "run" / "summary.json"));
}

TEST(Run, IsSavedAtItsStartIfItIsInterruptedBeforeItsFirstStep) {
  const TemporaryFolder folder;
  const Config config = config_of(folder.path(), "adam", {{"training.steps", "5"}});
  {
    auto session = begin_session(config, folder / "run");
    Stop stop;
    stop.end_in(0);
    Watcher watcher;
    watcher.stop = &stop;
    EXPECT_EQ(run(*session.trainer, *session.folder, watcher).reason, EndReason::interrupted);
  }
  auto whole = begin_session(config, folder / "whole");
  run(*whole.trainer, *whole.folder, {});
  auto session = resume_session(folder / "run", {});
  EXPECT_EQ(run(*session.trainer, *session.folder, {}, session.seconds).reason, EndReason::steps);
  expect_same_run(folder / "run", folder / "whole");
}

}  // namespace
}  // namespace lather::train
