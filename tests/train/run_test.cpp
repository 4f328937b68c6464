// A run that is interrupted and resumed equals the run that was not.
#include "lather/train/run.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lather/core/device.hpp"
#include "lather/core/error.hpp"
#include "lather/train/saved_run.hpp"
#include "small_problem.hpp"

namespace lather::train {
namespace {

using testing::content;
using testing::TemporaryFolder;

Config small_config(const std::filesystem::path& folder, const std::string& optimizer,
                    std::vector<pde::Override> settings = {}) {
  ConfigRequest r;
  r.problem = testing::write_small_problem(folder).string();
  r.optimizer = optimizer;
  r.threads = 2;
  r.seed = 3;
  r.settings = std::move(settings);
  return resolve(r);
}

const std::vector<pde::Override> kEverythingMoves = {
    {"training.steps", "90"},
    {"training.record_every", "4"},
    {"training.validate_every", "12"},
    {"training.sampling", "{method = \"adaptive\", every = 20}"},
    {"training.weighting", "{method = \"ntk\", every = 15}"}};

// Stops after this many steps of this session.
Watcher stop_after(int steps) {
  Watcher watcher;
  watcher.interrupted = [left = std::make_shared<int>(steps)] { return --*left < 0; };
  return watcher;
}

void expect_same_run(const std::filesystem::path& a, const std::filesystem::path& b) {
  for (const char* file : {"history.jsonl", "history.csv", "diagnostics.jsonl"})
    EXPECT_EQ(content(a / file), content(b / file)) << file;
  std::vector<std::string> messages;
  const auto one = read_run(a, messages), other = read_run(b, messages);
  EXPECT_TRUE(std::equal(one->parameters().begin(), one->parameters().end(), other->parameters().begin(),
                         other->parameters().end()));
  EXPECT_EQ(one->step(), other->step());
}

class Resume : public ::testing::TestWithParam<std::string> {};

TEST_P(Resume, GivesTheBitsOfTheUninterruptedRun) {
  TemporaryFolder folder;
  const Config config = small_config(folder.path(), GetParam(), kEverythingMoves);
  {
    auto whole = RunFolder::create(folder / "whole", config);
    Trainer trainer(config);
    EXPECT_EQ(run(trainer, whole, {}).reason, EndReason::steps);
  }
  RunFolder::create(folder / "pieces", config);
  EndReason reason = EndReason::interrupted;
  for (int sitting = 0; reason == EndReason::interrupted && sitting < 20; ++sitting) {
    auto pieces = RunFolder::open(folder / "pieces");
    Trainer trainer(config);
    std::vector<std::string> messages;
    const double seconds = restore(trainer, pieces, messages);
    reason = run(trainer, pieces, stop_after(7 + 6 * sitting), seconds).reason;
  }
  EXPECT_EQ(reason, EndReason::steps);
  expect_same_run(folder / "whole", folder / "pieces");
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Resume,
                         ::testing::Values("ss-esoap", "soap", "lbfgs", "adam", "ss-broyden"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Run, KnowsTheLossItStartedFromAlsoWhenResumed) {
  TemporaryFolder folder;
  const Config config = small_config(folder.path(), "adam", {{"training.steps", "20"}});
  const double start = Trainer(config).measure().loss;
  {
    auto run_folder = RunFolder::create(folder / "run", config);
    Trainer trainer(config);
    const Outcome cut = run(trainer, run_folder, stop_after(10));
    EXPECT_EQ(cut.summary.starting_loss, start);
  }
  auto run_folder = RunFolder::open(folder / "run");
  Trainer trainer(config);
  std::vector<std::string> messages;
  const Outcome outcome = run(trainer, run_folder, {}, restore(trainer, run_folder, messages));
  EXPECT_EQ(outcome.reason, EndReason::steps);
  EXPECT_EQ(outcome.summary.starting_loss, start);
  EXPECT_NE(outcome.summary.final.validation_loss, start);
}

TEST(Run, KeepsNoCheckpointOfItsEndIfNobodyWillReadItButAlwaysOneOfAnInterruption) {
  TemporaryFolder folder;
  const Config config = small_config(folder.path(), "adam", {{"training.steps", "20"}});
  auto run_folder = RunFolder::create(folder / "run", config);
  Watcher watcher = stop_after(10);
  watcher.keeps_end = false;
  Trainer first(config);
  EXPECT_EQ(run(first, run_folder, watcher).reason, EndReason::interrupted);
  const auto kept = run_folder.checkpoints().files();
  ASSERT_EQ(kept.size(), 1U);
  watcher.interrupted = [] { return false; };
  Trainer second(config);
  std::vector<std::string> messages;
  EXPECT_EQ(run(second, run_folder, watcher, restore(second, run_folder, messages)).reason, EndReason::steps);
  EXPECT_EQ(run_folder.checkpoints().files(), kept);
}

// Whoever finds a summary takes the run for ended and its fields for there.
TEST(Run, HasNotEndedBeforeItsFieldsAreWritten) {
  TemporaryFolder folder;
  const Config config = small_config(folder.path(), "adam", {{"training.steps", "5"}});
  auto run_folder = RunFolder::create(folder / "run", config);
  std::filesystem::create_directories(folder / "run" / "fields.json" / "in the way");
  Trainer trainer(config);
  EXPECT_THROW(run(trainer, run_folder, {}), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "run" / "summary.json"));
}

TEST(Run, LinesWrittenAfterTheCheckpointAreWrittenAgainNotTwice) {
  TemporaryFolder folder;
  const Config config =
      small_config(folder.path(), "adam", {{"training.steps", "40"}, {"training.record_every", "1"}});
  {
    auto whole = RunFolder::create(folder / "whole", config);
    Trainer trainer(config);
    run(trainer, whole, {});
  }
  {
    auto broken = RunFolder::create(folder / "broken", config);
    Trainer trainer(config);
    run(trainer, broken, stop_after(10));
    broken.append(Log::history,
                  "{\"step\": 11, \"loss\": \"half a li");  // as left by a process that is killed later
    broken.append(Log::history_csv, "11,1,0.5");
  }
  auto broken = RunFolder::open(folder / "broken");
  Trainer trainer(config);
  std::vector<std::string> messages;
  run(trainer, broken, {}, restore(trainer, broken, messages));
  expect_same_run(folder / "whole", folder / "broken");
}

// A checkpoint does not depend on the device, so a run from a GPU machine can be read anywhere.
TEST(Run, OneThatUsedAGpuIsReadWithoutOne) {
  TemporaryFolder folder;
  Config config = small_config(folder.path(), "adam", {{"training.steps", "10"}});
  std::vector<double> trained;
  {
    Trainer trainer(config);
    auto here = RunFolder::create(folder / "here", config);
    run(trainer, here, {});
    trained.assign(trainer.parameters().begin(), trainer.parameters().end());
  }
  std::vector<std::string> messages;
  auto checkpoint = read_newest_checkpoint(folder / "here", identity(config), messages);
  config.device = Device::cuda;
  checkpoint.identity = identity(config);
  RunFolder::create(folder / "there", config).checkpoints().save(checkpoint);

  const auto trainer = read_run(folder / "there", messages);
  EXPECT_TRUE(
      std::equal(trained.begin(), trained.end(), trainer->parameters().begin(), trainer->parameters().end()));
  if (cuda_report().usable) return;
  EXPECT_EQ(trainer->config().device, Device::cpu);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("read on the CPU"), std::string::npos) << messages[0];
  EXPECT_THROW(Trainer{config}, Error);  // continuing it needs the GPU
}

TEST(Run, TheSameConfigurationGivesTheSameBytes) {
  TemporaryFolder folder;
  const Config config = small_config(folder.path(), "ss-esoap", {{"training.steps", "30"}});
  for (const char* name : {"one", "two"}) {
    auto run_folder = RunFolder::create(folder / name, config);
    Trainer trainer(config_from_json(read_json(folder / name / "config.json")));
    run(trainer, run_folder, {});
  }
  expect_same_run(folder / "one", folder / "two");
}

TEST(Run, StopsAtItsTargetAndSaysSo) {
  TemporaryFolder folder;
  Config config =
      small_config(folder.path(), "lbfgs", {{"training.steps", "500"}, {"training.validate_every", "5"}});
  config.stop.target = Target{"l2", 0.2};
  auto run_folder = RunFolder::create(folder / "run", config);
  Trainer trainer(config);
  const Outcome outcome = run(trainer, run_folder, {});
  EXPECT_EQ(outcome.reason, EndReason::target) << outcome.message;
  EXPECT_LE(outcome.summary.final.l2.at("u"), 0.2);
  EXPECT_LT(trainer.step(), 500);
}

TEST(Run, StopsWhenTheTimeIsUp) {
  TemporaryFolder folder;
  Config config =
      small_config(folder.path(), "adam", {{"training.steps", "1000000"}, {"training.record_every", "1000"}});
  config.stop.seconds = 0.2;
  auto run_folder = RunFolder::create(folder / "run", config);
  Trainer trainer(config);
  const Outcome outcome = run(trainer, run_folder, {});
  EXPECT_EQ(outcome.reason, EndReason::time);
  EXPECT_LT(trainer.step(), 1000000);
  EXPECT_GE(outcome.summary.seconds, 0.2);
  EXPECT_GT(outcome.summary.measuring_seconds, 0);
  // The last step is validated, so that curves end where the run does.
  const std::string history = testing::content(folder / "run" / "history.jsonl");
  const auto last = nlohmann::json::parse(history.substr(history.rfind('\n', history.size() - 2) + 1));
  EXPECT_EQ(last["step"], trainer.step());
  EXPECT_TRUE(last.contains("l2.u"));
}

TEST(Run, EndsInWordsWhenTheLossIsNoNumber) {
  TemporaryFolder folder;
  const Config config =
      small_config(folder.path(), "sgd", {{"optimizer.learning_rate", "1e300"}, {"training.steps", "50"}});
  auto run_folder = RunFolder::create(folder / "run", config);
  Trainer trainer(config);
  const Outcome outcome = run(trainer, run_folder, {});
  EXPECT_EQ(outcome.reason, EndReason::non_finite);
  EXPECT_FALSE(outcome.message.empty());
}

TEST(Run, TheBestStepIsRememberedAcrossARestart) {
  TemporaryFolder folder;
  const Config config =
      small_config(folder.path(), "adam", {{"training.steps", "40"}, {"training.validate_every", "5"}});
  auto run_folder = RunFolder::create(folder / "run", config);
  Trainer trainer(config);
  run(trainer, run_folder, {});
  std::vector<std::string> messages;
  const auto read = read_run(folder / "run", messages);
  EXPECT_EQ(read->best_step(), trainer.best_step());
  EXPECT_EQ(read->best().loss, trainer.best().loss);
  EXPECT_EQ(read->best().l2, trainer.best().l2);
}

TEST(Run, TrainingBringsTheErrorDown) {
  TemporaryFolder folder;
  const Config config = small_config(folder.path(), "ss-esoap", {{"training.steps", "400"}});
  Trainer trainer(config);
  const double before = trainer.measure().worst_l2();
  while (trainer.step() < config.stop.steps) trainer.advance();
  EXPECT_LT(trainer.measure().worst_l2(), 0.3 * before);
}

TEST(RunFolderTest, CannotBeWrittenByTwo) {
  TemporaryFolder folder;
  const Config config = small_config(folder.path(), "adam");
  const auto first = RunFolder::create(folder / "run", config);
  try {
    RunFolder::open(folder / "run");
    FAIL() << "opened twice";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(::getpid())), std::string::npos) << error.what();
  }
}

TEST(RunFolderTest, DoesNotOverwriteARun) {
  TemporaryFolder folder;
  const Config config = small_config(folder.path(), "adam");
  { const auto first = RunFolder::create(folder / "run", config); }
  EXPECT_THROW(RunFolder::create(folder / "run", config), Error);
}

}  // namespace
}  // namespace lather::train
