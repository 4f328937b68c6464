// Runs resumed with more steps or more time: they go on training, and say what their schedule is now.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lather/train/saved_run.hpp"
#include "lather/train/session.hpp"
#include "small_problem.hpp"

namespace lather::train {
namespace {

using testing::content;
using testing::TemporaryFolder;

Config config_of(const std::filesystem::path& folder, const std::string& optimizer, std::int64_t steps,
                 std::vector<pde::Override> settings = {}) {
  ConfigRequest r;
  r.problem = testing::write_small_problem(folder).string();
  r.optimizer = optimizer;
  r.threads = 1;
  r.steps = steps;
  r.settings = {{"training.record_every", "1"}, {"training.validate_every", "5"}};
  r.settings.insert(r.settings.end(), settings.begin(), settings.end());
  return resolve(r);
}

std::vector<double> column(const std::filesystem::path& run, const std::string& name) {
  std::vector<double> values;
  std::istringstream lines(content(run / "history.jsonl"));
  for (std::string line; std::getline(lines, line);)
    values.push_back(nlohmann::json::parse(line)[name].get<double>());
  return values;
}

void train(const Config& config, const std::filesystem::path& folder) {
  auto session = begin_session(config, folder);
  ASSERT_EQ(run(*session.trainer, *session.folder, {}).reason, EndReason::steps);
}

NewLimits to_step(std::int64_t steps) {
  NewLimits limits;
  limits.steps = steps;
  return limits;
}

Session resumed(const std::filesystem::path& folder, const NewLimits& limits) {
  auto session = resume_session(folder, limits);
  run(*session.trainer, *session.folder, {}, session.seconds);
  return session;
}

class MoreSteps : public ::testing::TestWithParam<std::string> {};

TEST_P(MoreSteps, TrainFurtherByTheScheduleOfTheLongerRun) {
  const TemporaryFolder folder;
  train(config_of(folder.path(), GetParam(), 20, {{"optimizer.schedule.decay", "cosine"}}), folder / "run");
  const auto session = resumed(folder / "run", to_step(40));
  ASSERT_EQ(session.messages.size(), 1U);
  EXPECT_EQ(session.messages[0],
            "the learning rate's schedule is now that of a run of 40 steps: 0.5 times its start at step 20, "
            "falling to 0 times its start at the end");
  const auto moved = column(folder / "run", "step_norm");
  ASSERT_EQ(moved.size(), 40U);
  for (std::size_t i = 20; i < moved.size(); ++i) EXPECT_GT(moved[i], 0) << i;
  EXPECT_EQ(session.trainer->step(), 40);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, MoreSteps, ::testing::Values("adam", "soap", "muon", "ss-esoap"),
                         [](const auto& info) { return info.param == "ss-esoap" ? "ss_esoap" : info.param; });

// Every step to come has the rate of the longer run.
TEST(MoreSteps, HaveTheRatesOfARunPlannedSo) {
  const TemporaryFolder folder;
  const auto rates = [](Trainer& trainer) { return trainer.scheduled_factor().value(); };
  const Config planned = config_of(folder.path(), "adam", 40);
  train(config_of(folder.path(), "adam", 20), folder / "run");
  auto longer = resume_session(folder / "run", to_step(40));
  Trainer whole(planned);
  while (whole.step() < 20) whole.advance();
  while (whole.step() < 40) {
    EXPECT_EQ(rates(*longer.trainer), rates(whole)) << whole.step();
    whole.advance();
    longer.trainer->advance();
  }
}

// Where the steps so far do not depend on the length, the bytes are those of the run planned so.
TEST(MoreSteps, GiveTheBytesOfTheRunPlannedSoWithoutASchedule) {
  const TemporaryFolder folder;
  for (const std::string optimizer : {"lm", "ss-broyden", "lbfgs"}) {
    train(config_of(folder.path(), optimizer, 5), folder / (optimizer + "-run"));
    train(config_of(folder.path(), optimizer, 10), folder / (optimizer + "-planned"));
    const auto session = resumed(folder / (optimizer + "-run"), to_step(10));
    EXPECT_TRUE(session.messages.empty());
    for (const char* file : {"history.jsonl", "history.csv", "diagnostics.jsonl"})
      EXPECT_EQ(content(folder / (optimizer + "-run") / file),
                content(folder / (optimizer + "-planned") / file))
          << optimizer << ' ' << file;
  }
}

// However often such a run is interrupted later.
TEST(MoreSteps, ResumeBitForBit) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) train(config_of(folder.path(), "adam", 10), folder / name);
  resumed(folder / "a", to_step(30));
  {
    auto session = resume_session(folder / "b", to_step(30));
    Watcher watcher;
    watcher.interrupted = [left = 7]() mutable { return --left < 0; };
    ASSERT_EQ(run(*session.trainer, *session.folder, watcher).reason, EndReason::interrupted);
  }
  EXPECT_TRUE(resumed(folder / "b", {}).messages.empty());
  EXPECT_EQ(content(folder / "a" / "history.jsonl"), content(folder / "b" / "history.jsonl"));
}

TEST(MoreSteps, ExtendAScheduleBeforeASecondOptimizer) {
  const TemporaryFolder folder;
  train(config_of(folder.path(), "adam", 10,
                  {{"optimizer.then.name", "lbfgs"}, {"optimizer.then.plateau_steps", "1000"}}),
        folder / "run");
  resumed(folder / "run", to_step(20));
  for (const double norm : column(folder / "run", "step_norm")) EXPECT_GT(norm, 0);
}

TEST(MoreSteps, LeaveAScheduleOfAGivenLengthAndSaySo) {
  const TemporaryFolder folder;
  train(config_of(folder.path(), "adam", 10,
                  {{"optimizer.schedule.decay", "cosine"}, {"optimizer.schedule.total_steps", "10"}}),
        folder / "run");
  const auto session = resumed(folder / "run", to_step(12));
  ASSERT_EQ(session.messages.size(), 1U);
  EXPECT_EQ(
      session.messages[0],
      "the learning rate's schedule has ended at step 10, as optimizer.schedule.total_steps says: the rate "
      "stays at 0 times its start");
}

TEST(MoreTime, ExtendsTheSchedule) {
  const TemporaryFolder folder;
  Config config = config_of(folder.path(), "adam", 1'000'000'000);
  config.stop.seconds = 0.2;
  {
    auto session = begin_session(config, folder / "run");
    EXPECT_EQ(run(*session.trainer, *session.folder, {}).reason, EndReason::time);
  }
  NewLimits limits;
  limits.seconds = 1e6;
  auto session = resume_session(folder / "run", limits);
  ASSERT_EQ(session.messages.size(), 1U);
  EXPECT_TRUE(session.messages[0].starts_with(
      "the learning rate's schedule is now that of a run of 1000000000 steps or 1e+06 s: 1 times its start"))
      << session.messages[0];
}

}  // namespace
}  // namespace lather::train
