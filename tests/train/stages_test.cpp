// Stages that end when solved, share steps and time, and report how they ended.
#include <gtest/gtest.h>

#include "lather/core/error.hpp"
#include "lather/train/run.hpp"
#include "small_problem.hpp"
#include "staged_runs.hpp"

namespace lather::train {
namespace {

using test::Finished;
using test::run_all;
using test::staged;
using testing::TemporaryFolder;

TEST(StageControl, GivesEveryStageItsShareOfWhatIsLeft) {
  StageControl control({});
  const Budget limit{1000, 100};
  control.begin({0, 0}, 0.25);
  EXPECT_EQ(control.end_step(limit), 250);
  EXPECT_EQ(control.end({249, 24}, limit), StageEnd::none);
  EXPECT_EQ(control.end({250, 24}, limit), StageEnd::steps);
  EXPECT_EQ(control.end({10, 25}, limit), StageEnd::time);
  EXPECT_EQ(control.end({10, 25}, {1000, 0}), StageEnd::none);  // no time limit
  // The first stage ended early: the others get more.
  control.begin({100, 10}, 1.0 / 3);
  EXPECT_EQ(control.end_step(limit), 400);
  EXPECT_EQ(control.end({399, 39.9}, limit), StageEnd::none);
  EXPECT_EQ(control.end({399, 40.1}, limit), StageEnd::time);
  control.prolong({400, 40});
  EXPECT_EQ(control.end_step(limit), 600);
  EXPECT_DOUBLE_EQ(control.progress({500, 40}, limit), 0.5);
  EXPECT_DOUBLE_EQ(control.progress({500, 55}, limit), 0.75);
}

TEST(StageControl, EndsWhenSolvedOnAPlateauOrWhenTheOptimizerCanDoNoMore) {
  const Budget limit{1000, 0};
  StageControl solved({.target = 1e-3});
  solved.begin({0, 0}, 0.5);
  solved.looked(10, 2e-3, 1);
  EXPECT_EQ(solved.end({10, 0}, limit), StageEnd::none);
  solved.looked(20, 1e-3, 1);
  EXPECT_EQ(solved.end({20, 0}, limit), StageEnd::solved);

  StageControl plateau({.plateau = 2});
  plateau.begin({0, 0}, 0.5);
  for (const double loss : {1.0, 0.9, 0.89, 0.5}) plateau.looked(1, 1, loss);  // 0.89 is no progress, 0.5 is
  EXPECT_EQ(plateau.end({20, 0}, limit), StageEnd::none);
  for (const double loss : {0.49, 0.48}) plateau.looked(2, 1, loss);
  EXPECT_EQ(plateau.end({20, 0}, limit), StageEnd::plateau);

  StageControl stalled({});
  stalled.begin({0, 0}, 0.5);
  stalled.optimizer_ended();
  EXPECT_EQ(stalled.end({20, 0}, limit), StageEnd::stalled);
  stalled.begin({20, 0}, 1);  // the next stage knows nothing about it
  EXPECT_EQ(stalled.end({20, 0}, limit), StageEnd::none);
}

TEST(StageControl, DoubtsAStageWithoutATargetThatUsedUpItsShareAndShowsIt) {
  const auto judged = [](std::vector<double> losses, const StageControl::Nothing& nothing, double least,
                         bool annealed = false, StageEnd end = StageEnd::steps) {
    StageControl control({});
    control.begin({0, 0}, 1);
    control.began(losses.front(), nothing);
    for (std::size_t i = 1; i < losses.size(); ++i)
      control.looked(static_cast<std::int64_t>(10 * i), 1e-3, losses[i]);
    return control.judge(end, least, annealed).verdict;
  };
  const std::vector<double> settled = {1, 1e-3, 1e-6, 1.1e-7, 1e-7, 0.9e-7},
                            falling = {1, 0.1, 1e-2, 1e-3, 1e-4, 1e-6};
  EXPECT_EQ(judged(settled, {1, 1}, 0), Verdict::open);
  EXPECT_EQ(judged(settled, {1, 1}, 1.1e-4), Verdict::open);
  EXPECT_EQ(judged(settled, {1, 1}, 0.9e-4), Verdict::unsolved) << "ten times the residual of another stage";
  EXPECT_EQ(judged(settled, {1, 11}, 0.9e-4), Verdict::open) << "but less than 1e-4 of that of nothing";
  EXPECT_EQ(judged(settled, {8e-6, 1}, 0), Verdict::unsolved) << "hardly better than nothing";
  EXPECT_EQ(judged(falling, {1, 1}, 0), Verdict::unsolved);
  EXPECT_EQ(judged(falling, {1, 1}, 0, true), Verdict::open) << "an annealed learning rate makes it fall";
  EXPECT_EQ(judged(falling, {1, 1}, 0, false, StageEnd::stalled), Verdict::open)
      << "no more steps would help";
  EXPECT_EQ(judged({1e-3}, {1, 1}, 0), Verdict::unsolved) << "no step was taken";
}

TEST(StageControl, SaysThatNoStepWasLeftOnlyOfAStageThatHadSome) {
  StageControl control({});
  control.begin({10, 0}, 0.5);
  control.began(1, {1, 1});
  control.looked(10, 1, 1);
  EXPECT_EQ(control.judge(StageEnd::steps, 0, false).reason, "it had no step");
  control.looked(20, 1, 1);
  control.prolong({20, 0});
  control.looked(20, 1, 1);
  EXPECT_EQ(control.judge(StageEnd::steps, 0, false).reason, "no step was left to prolong it");
}

TEST(Stages, ShareTheTimeSoThatTheLastWindowIsReachedAndTheWholeDomainMeasured) {
  TemporaryFolder folder;
  Config config =
      staged(folder.path(), {{"training.time_windows", "3"}, {"training.steps", "1000000"}}, "adam");
  config.stop.seconds = 0.6;
  const auto [outcome, messages] = run_all(config, folder / "run");
  EXPECT_EQ(outcome.reason, EndReason::time);
  ASSERT_EQ(outcome.summary.stages.size(), 3u);
  EXPECT_EQ(outcome.summary.stages[0].ended, "its share of the time is used up");
  EXPECT_EQ(outcome.summary.stages[2].name, "t in [0.666667, 1]");
  EXPECT_GT(outcome.summary.stages[2].steps, 0);
  EXPECT_EQ(outcome.summary.final.l2.count("u"), 1u);
}

TEST(Stages, EndWhenSolvedAndPassOnWhatTheyDidNotUse) {
  TemporaryFolder folder;
  const Finished run = run_all(staged(folder.path(), {{"training.time_windows", "2"},
                                                      {"training.steps", "400"},
                                                      {"training.stages", "{target = 0.05}"}}),
                               folder / "run");
  const auto& summary = run.outcome.summary;
  ASSERT_EQ(summary.stages.size(), 2u);
  EXPECT_EQ(summary.stages[0].ended, "solved");
  EXPECT_EQ(summary.stages[0].solved, "yes");
  EXPECT_LT(summary.stages[0].steps, 200);
  EXPECT_LE(summary.stages[0].residual, 0.05);
  EXPECT_EQ(run.outcome.reason, EndReason::target) << run.outcome.message;
  EXPECT_TRUE(run.said("stage 1 of 2 (t in [0, 0.5]): solved after"));
  EXPECT_NE(testing::content(folder / "run" / "history.jsonl").find("stage 1 of 2"), std::string::npos);
}

TEST(Stages, SayThatTheyAreNotSolvedAndAreProlongedOrHalved) {
  TemporaryFolder folder;
  const std::vector<pde::Override> hopeless = {
      {"training.time_windows", "2"}, {"training.steps", "40"}, {"training.stages.target", "1e-12"}};
  auto settings = hopeless;
  settings.push_back({"training.stages.tries", "1"});
  const Finished prolonged = run_all(staged(folder.path(), settings, "adam"), folder / "prolonged");
  EXPECT_TRUE(prolonged.said("not solved (target 1e-12); prolonged to step 30"));
  EXPECT_TRUE(prolonged.said("handed over as it is"));
  ASSERT_EQ(prolonged.outcome.summary.stages.size(), 2u);
  EXPECT_EQ(prolonged.outcome.summary.stages[0].steps, 30);
  EXPECT_EQ(prolonged.outcome.summary.stages[0].solved, "no");
  EXPECT_EQ(prolonged.outcome.summary.step, 40);

  settings.push_back({"training.stages.unsolved", "halve"});
  const Finished halved = run_all(staged(folder.path(), settings, "adam"), folder / "halved");
  EXPECT_TRUE(halved.said("begun again as t in [0, 0.25]"));
  const auto& stages = halved.outcome.summary.stages;
  ASSERT_GE(stages.size(), 3u);
  EXPECT_EQ(stages[0].name, "t in [0, 0.25]");
  EXPECT_EQ(stages[1].name, "t in [0.25, 0.375]");  // the second half is not solved either
}

TEST(Stages, WithoutATargetSayWhichOfThemAreNotSolvedAndWhatToDo) {
  TemporaryFolder folder;
  std::vector<pde::Override> settings = {{"training.time_windows", "4"}, {"training.steps", "8"}};
  const Finished run = run_all(staged(folder.path(), settings, "adam"), folder / "run");
  EXPECT_TRUE(run.said("stage 1 of 4 (t in [0, 0.25]): its share of the steps is used up"));
  EXPECT_TRUE(run.said(": not solved ("));
  EXPECT_TRUE(run.said("; handed over as it is"));
  const auto& summary = run.outcome.summary;
  EXPECT_EQ(
      summary.unsolved,
      "4 of 4 stages not solved: t in [0, 0.25], t in [0.25, 0.5], t in [0.5, 0.75], t in [0.75, 1]; more "
      "steps or time (--steps, --time), or --set training.stages.unsolved=prolong or halve, may help");
  for (const auto& stage : summary.stages) EXPECT_EQ(stage.solved, "no") << stage.name;
  EXPECT_NE(testing::content(folder / "run" / "summary.json").find("4 of 4 stages not solved"),
            std::string::npos);

  settings.push_back({"training.stages.unsolved", "prolong"});
  EXPECT_TRUE(
      run_all(staged(folder.path(), settings, "adam"), folder / "prolonged").said("; prolonged to step 3"));
  settings.back().value = "halve";
  EXPECT_TRUE(run_all(staged(folder.path(), settings, "adam"), folder / "halved")
                  .said("begun again as t in [0, 0.125]"));
}

TEST(Stages, ThatWereNotReachedAreCounted) {
  TemporaryFolder folder;
  Trainer trainer(staged(folder.path(), {{"training.time_windows", "4"}, {"training.steps", "8"}}, "adam"));
  while (trainer.stage() == 0) trainer.advance();
  EXPECT_NE(trainer.unsolved_stages().find("1 of 4 stages not solved: t in [0, 0.25]; 2 not reached; more"),
            std::string::npos)
      << trainer.unsolved_stages();
}

// Adam's first step moves every parameter by the learning rate, whatever the gradient: by less if moments
// from elsewhere are kept.
TEST(Stages, OfAParameterThatAreHalvedBeginWithAFreshOptimizer) {
  TemporaryFolder folder;
  Trainer trainer(
      staged(folder.path(),
             {{"training.continuation", "{parameter = \"nu\", values = [0.2, 0.1, 0.05], steps = [1, 1, 1]}"},
              {"training.steps", "40"},
              {"optimizer.schedule", "{decay = \"constant\"}"},
              {"training.stages", "{target = 1e-12, unsolved = \"halve\", tries = 1}"}},
             "adam"));
  const double first = trainer.advance().step_norm;
  double before = 0;
  optim::StepReport report;
  while (report.message.find("begun again") == std::string::npos) {
    ASSERT_LT(trainer.step(), 40);
    before = report.step_norm;
    report = trainer.advance();
  }
  EXPECT_LT(before, 0.9 * first);
  EXPECT_NEAR(report.step_norm, first, 1e-3 * first);
}

TEST(Stages, ThatAreSolvedWithoutATargetAreNotDoubted) {
  TemporaryFolder folder;
  const Finished run = run_all(
      staged(folder.path(), {{"training.time_windows", "2"}, {"training.steps", "200"}}), folder / "run");
  EXPECT_EQ(run.outcome.summary.unsolved, "");
  EXPECT_FALSE(run.said("not solved"));
}

TEST(Stages, OfAParameterAreHalvedByAValueBetween) {
  TemporaryFolder folder;
  const Config config =
      staged(folder.path(),
             {{"training.continuation", "{parameter = \"nu\", values = [0.2, 0.1, 0.05], steps = [1, 2, 2]}"},
              {"training.steps", "30"},
              {"training.stages", "{target = 1e-12, unsolved = \"halve\", tries = 1}"}},
             "adam");
  const Finished run = run_all(config, folder / "run");
  EXPECT_TRUE(run.said("stage 1 of 3 (nu = 0.2)"));
  EXPECT_TRUE(run.said("(nu = 0.1)"));
  EXPECT_TRUE(run.said("begun again as nu = 0.15"));
  const auto& stages = run.outcome.summary.stages;
  ASSERT_EQ(stages.size(), 4u) << "one try for each value that was asked for";
  EXPECT_EQ(stages[0].name, "nu = 0.2");
  EXPECT_EQ(stages[1].name, "nu = 0.15");
  EXPECT_EQ(stages[2].name, "nu = 0.1");
  EXPECT_EQ(stages[3].name, "nu = 0.05");
  test::expect_same_in_pieces(config);
}

TEST(Stages, OfCorrectionsCannotBeHalved) {
  TemporaryFolder folder;
  try {
    staged(folder.path(), {{"training.corrections", "1"}, {"training.stages.unsolved", "halve"}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("corrections can be prolonged"), std::string::npos)
        << error.what();
  }
}

// An unknown number is a result of the stage before, not a weight.
TEST(Stages, WarmNoiseLeavesUnknownNumbersAsTheyWereFound) {
  TemporaryFolder folder;
  const auto at_second_window = [&](const char* noise) {
    auto text = std::string(testing::kSmallProblem);
    text.insert(text.find("[[equation]]"), "[unknown]\nk = 100\n");
    text.replace(text.find("u_t - nu*u_xx"), 13, "u_t - k*nu*u_xx");
    ConfigRequest r{.problem = "small", .text = text, .optimizer = "sgd", .threads = 1};
    r.settings = {{"training.time_windows", std::string("{count = 2, warm_noise = ") + noise + "}"},
                  {"optimizer.learning_rate", "1e-30"},
                  {"training.steps", "4"}};
    Trainer trainer(resolve(r));
    while (trainer.stage() == 0) trainer.advance();
    return std::vector<double>(trainer.parameters().begin(), trainer.parameters().end());
  };
  const auto still = at_second_window("0"), shaken = at_second_window("0.1");
  EXPECT_EQ(still.back(), 100);
  EXPECT_EQ(shaken.back(), 100);
  EXPECT_NE(still.front(), shaken.front());
}

TEST(Stages, HandOverTheirBestParameters) {
  TemporaryFolder folder;
  Trainer trainer(staged(
      folder.path(),
      {{"training.time_windows", "2"}, {"training.steps", "40"}, {"optimizer.learning_rate", "3"}}, "sgd"));
  trainer.validate();  // the start, which steps of this length will spoil
  const std::vector<double> start(trainer.parameters().begin(), trainer.parameters().end());
  std::string message;
  while (trainer.stage() == 0) message = trainer.advance(1).message;
  EXPECT_NE(message.find("those of step 0 are handed over"), std::string::npos) << message;
}

TEST(Stages, OfWindowsHaveTheirSharesOfTheSteps) {
  TemporaryFolder folder;
  const Config config =
      staged(folder.path(),
             {{"training.time_windows", "{edges = [0, 0.25, 1], steps = [3, 1]}"}, {"training.steps", "40"}},
             "adam");
  const auto finished = run_all(config, folder / "run");
  ASSERT_EQ(finished.outcome.summary.stages.size(), 2u);
  EXPECT_EQ(finished.outcome.summary.stages[0].steps, 30);
  EXPECT_EQ(finished.outcome.summary.stages[1].steps, 10);
  for (const char* shares : {"[1]", "[1, 0]", "[1, 1, 1]"})
    EXPECT_THROW(Trainer(staged(folder.path(), {{"training.time_windows.count", "2"},
                                                {"training.time_windows.steps", shares}})),
                 Error)
        << shares;
}

TEST(Stages, OfUnevenWindowsWithNoiseAreResumedBitForBit) {
  TemporaryFolder folder;
  const Config config =
      staged(folder.path(),
             {{"training.time_windows", "{edges = [0, 0.25, 1], steps = [2, 1], warm_noise = 0.01}"},
              {"training.steps", "60"},
              {"training.stages", "{target = 1e-12, unsolved = \"halve\", tries = 1, plateau = 3}"}},
             "ss-esoap");
  test::expect_same_in_pieces(config);
}

// Before a switch the schedule's length is fixed when the window begins; a resumed run must not fix it again.
TEST(Stages, WithAScheduleBeforeASwitchAreResumedBitForBit) {
  TemporaryFolder folder;
  const Config config = staged(folder.path(),
                               {{"training.time_windows", "2"},
                                {"training.steps", "60"},
                                {"optimizer.then.name", "lbfgs"},
                                {"optimizer.then.plateau_steps", "1000"}},
                               "adam");
  ASSERT_TRUE(config.optimizer.wrappers.schedule->over_the_whole_run());
  test::expect_same_in_pieces(config);
}

TEST(Stages, OfEdgesThatDoNotFitAreRefused) {
  TemporaryFolder folder;
  for (const char* edges : {"[0, 0.5]", "[0.1, 1]", "[0, 0.6, 0.5, 1]", "[0]"})
    EXPECT_THROW(staged(folder.path(), {{"training.time_windows.edges", edges}}), Error) << edges;
}

// Adam moves every parameter by the learning rate in its first
// step, and by next to nothing at the end of a cosine.
TEST(ScheduleOverTheWholeRun, AnnealsBySharesOfTheStepsAndOfTheTime) {
  TemporaryFolder folder;
  const Config config = staged(folder.path(), {{"training.steps", "50"}}, "adam");
  ASSERT_TRUE(config.optimizer.wrappers.schedule->over_the_whole_run());
  Trainer by_steps(config);
  const double first = by_steps.advance().step_norm;
  optim::StepReport last;
  while (by_steps.step() < 50) last = by_steps.advance();
  EXPECT_LT(last.step_norm, 0.02 * first);
  Config timed = config;
  timed.stop.seconds = 10;
  Trainer by_time(timed);
  by_time.advance();
  by_time.set_seconds(9.9);
  EXPECT_LT(by_time.advance().step_norm, 0.02 * first);
}

}  // namespace
}  // namespace lather::train
