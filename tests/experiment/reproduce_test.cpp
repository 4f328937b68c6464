// Runs side by side equal runs alone; what is done is not repeated.
#include "lather/experiment/reproduce.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>

#include "lather/core/files.hpp"
#include "lather/core/memory.hpp"
#include "lather/experiment/pages/tables.hpp"
#include "lather/experiment/pages/write_up.hpp"
#include "lather/experiment/verdicts/verdict.hpp"
#include "reproduce_small.hpp"
#include "small_experiment.hpp"
#include "train/small_problem.hpp"

namespace lather::experiment {
namespace {

using small_experiment::kSmallExperiment;
using small_experiment::read_text;
using small_experiment::with;
using testing::TemporaryFolder;

std::vector<std::string> histories(const ExperimentResult& result) {
  std::vector<std::string> texts;
  for (const auto& cell : result.cells)
    for (const auto& run : cell.seeds) texts.push_back(read_file(run.folder / "history.jsonl"));
  return texts;
}

// A has 2^80 entries, more than any machine can address.
constexpr const char* kTooLarge = R"(
name = "large"
title = "Large"
claim = "None."

[[problem]]
name = "too-large"
task = "quadratic"
settings.task.m = 1099511627776
settings.task.p = 1099511627776

[[problem]]
name = "small"
task = "quadratic"
settings.task.size = "small"

[[variant]]
name = "adam"

[[metric]]
quantity = "task.gap"

[budget.quick]
steps = 20
)";

TEST(Reproduce, HistoriesSideBySideAreThoseOfRunsAlone) {
  const Experiment e = read_text(kSmallExperiment);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder alone, together;
  const auto one = reproduce_small(plans, alone.path(), 1), four = reproduce_small(plans, together.path(), 4);
  ASSERT_TRUE(one.results[0].complete() && four.results[0].complete());
  const auto expected = histories(one.results[0]);
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_EQ(histories(four.results[0]), expected);
  EXPECT_NE(expected[0], expected[1]);  // seeds differ
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(one.results[0].cells[0].chosen[i].value, four.results[0].cells[0].chosen[i].value);
}

// Locks belong to open files, so two in one process conflict just as two processes do.
TEST(Reproduce, TwoShareAFolderWithoutRepeatingWhatTheOtherDoes) {
  const Experiment e = read_text(kSmallExperiment);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)}, same{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder alone, shared;
  const auto expected = histories(reproduce_small(plans, alone.path(), 1).results[0]);
  Counted other;
  std::thread second([&] { other = reproduce_small(same, shared.path(), 1); });
  const Counted first = reproduce_small(plans, shared.path(), 1);
  second.join();
  ASSERT_TRUE(first.results[0].complete() && other.results[0].complete());
  EXPECT_EQ(histories(first.results[0]), expected);
  EXPECT_EQ(histories(other.results[0]), expected);
}

TEST(Reproduce, AKilledOneGoesOnWithoutRepeatingWhatIsDone) {
  const Experiment e = read_text(kSmallExperiment);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder whole, parts;
  const auto expected = histories(reproduce_small(plans, whole.path(), 2).results[0]);
  const auto first = reproduce_small(plans, parts.path(), 1, 130);  // in the middle of a run
  EXPECT_FALSE(first.results[0].complete());
  std::vector<std::pair<std::filesystem::path, std::filesystem::file_time_type>> done;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(parts.path()))
    if (entry.path().filename() == "summary.json" &&
        read_file(entry.path()).find("interrupted") == std::string::npos)
      done.emplace_back(entry.path(), entry.last_write_time());
  EXPECT_GE(done.size(), 2U);
  // The interrupted run goes on from its newest checkpoint; nothing else from it is needed.
  std::vector<std::filesystem::path> checkpoints;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(parts.path()))
    if (entry.path().extension() == ".checkpoint") checkpoints.push_back(entry.path());
  ASSERT_EQ(checkpoints.size(), 1U);
  EXPECT_EQ(checkpoints[0].filename().string().find("step-000000000000"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(checkpoints[0].parent_path().parent_path() / "fields.json"));
  const auto second = reproduce_small(plans, parts.path(), 2);
  ASSERT_TRUE(second.results[0].complete());
  EXPECT_EQ(histories(second.results[0]), expected);
  for (const auto& [path, time] : done) EXPECT_EQ(std::filesystem::last_write_time(path), time) << path;
  // The third time nothing is trained, and no training is needed to write the page.
  const auto found = collect(plans, parts.path());
  EXPECT_TRUE(found[0].complete());
  EXPECT_EQ(histories(found[0]), expected);
  // One that is stopped at once still knows what others have done.
  EXPECT_TRUE(reproduce_small(plans, parts.path(), 1, 0).results[0].complete());
}

TEST(Reproduce, AnInterruptedRunWhoseCheckpointIsDamagedStartsOverAndSaysSo) {
  const Experiment e = read_text(kSmallExperiment);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder whole, parts;
  const auto expected = histories(reproduce_small(plans, whole.path(), 2).results[0]);
  reproduce_small(plans, parts.path(), 1, 130);  // in the middle of a run
  for (const auto& entry : std::filesystem::recursive_directory_iterator(parts.path()))
    if (entry.path().extension() == ".checkpoint")
      write_file_atomically(entry.path(), "LATHERCK and no more");
  const auto second = reproduce_small(plans, parts.path(), 2);
  ASSERT_TRUE(second.results[0].complete());
  EXPECT_EQ(histories(second.results[0]), expected);
  EXPECT_EQ(std::count_if(second.lines.begin(), second.lines.end(),
                          [](const std::string& line) {
                            return line.find("it starts over: no usable checkpoint") != std::string::npos;
                          }),
            1);
}

TEST(Reproduce, AnInterruptedMatrixRunIsResumed) {
  const Experiment e = read_text(kTooLarge);
  const Plan plan = make_plan(e, "quick", Device::cpu);
  const RunSpec spec = plan.run(plan.cells[1], {}, 1);
  const TemporaryFolder whole, parts;
  const auto expected = run_store(whole.path()).run(spec, false, Keep::all, {});
  ASSERT_EQ(expected.status, RunStatus::done);
  const auto store = run_store(parts.path());
  int asked = 0;
  train::Watcher watcher;
  watcher.interrupted = [&] { return ++asked > 8; };
  EXPECT_EQ(store.run(spec, false, Keep::all, watcher).status, RunStatus::interrupted);
  EXPECT_EQ(store.find(spec, false).status, RunStatus::interrupted);
  asked = -1000;
  const auto run = store.run(spec, false, Keep::all, watcher);
  EXPECT_EQ(run.status, RunStatus::done);
  EXPECT_EQ(asked, -1000 + 12);  // of 20 steps
  EXPECT_EQ(read_file(run.folder / "history.jsonl"), read_file(expected.folder / "history.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(run.folder / "checkpoints"));
}

TEST(Reproduce, EveryExperimentHasItsFirstSeedBeforeAnyHasItsSecond) {
  Experiment a = read_text(kSmallExperiment), b = a, timed = a;
  b.name = "other";
  b.settings.push_back({"network.width", "5"});
  timed.name = "timed";
  timed.metrics[1].quantity = Quantity::seconds;
  const std::vector<Plan> plans{make_plan(a, "quick", Device::cpu), make_plan(b, "quick", Device::cpu),
                                make_plan(timed, "quick", Device::cpu)};
  const TemporaryFolder out;
  const auto lines = reproduce_small(plans, out.path(), 1).lines;
  ASSERT_EQ(lines.size(), plans[0].runs() + plans[1].runs() + plans[2].runs());
  std::size_t last_first = 0, first_second = lines.size(), first_of_other = lines.size(), last_of_small = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("seed 1:") != std::string::npos) last_first = i;
    if (lines[i].find("seed 2:") != std::string::npos) first_second = std::min(first_second, i);
    if (lines[i].find("other: ") != std::string::npos) first_of_other = std::min(first_of_other, i);
    if (lines[i].find("small: heat-1d with ss-esoap, seed 1") != std::string::npos) last_of_small = i;
  }
  EXPECT_LT(last_first, first_second);
  EXPECT_LT(first_of_other, last_of_small);  // experiments take turns
}

TEST(Reproduce, SaysHowMuchIsLeftFromWhatRunsHaveTaken) {
  Experiment a = read_text(kSmallExperiment), timed = a;
  timed.metrics[1].quantity = Quantity::seconds;
  const std::vector<Plan> plans{make_plan(a, "quick", Device::cpu), make_plan(timed, "quick", Device::cpu)};
  WorkLeft left(plans, 2);  // each: four tunings of 15 steps, two cells of two seeds with 40
  EXPECT_EQ(left.runs(), 16U);
  EXPECT_FALSE(left.seconds());
  left.ended(0, RunKind::tuning, {});
  EXPECT_FALSE(left.seconds());
  left.ended(0, RunKind::training, 20);  // half a second per step
  EXPECT_EQ(left.runs_ended(), 2U);
  EXPECT_DOUBLE_EQ(*left.seconds(), 0.5 * ((3 * 15 + 3 * 40) / 2.0 + 4 * 15 / 2.0 + 4 * 40));
  left.ended(1, RunKind::training, 80);  // four times as slow there
  EXPECT_DOUBLE_EQ(*left.seconds(), 0.5 * (3 * 15 + 3 * 40) / 2.0 + 2 * (4 * 15 / 2.0 + 3 * 40));
  a.budgets["quick"].time_limit = 5;  // then nothing runs beside anything
  const std::vector<Plan> limited{make_plan(a, "quick", Device::cpu)};
  WorkLeft alone(limited, 2);
  alone.ended(0, RunKind::tuning, 15);
  EXPECT_DOUBLE_EQ(*alone.seconds(), 3 * 15 + 4 * 40);
  EXPECT_EQ(rough_time(40), "40 s");
  EXPECT_EQ(rough_time(600), "10 min");
}

TEST(Reproduce, RunsThatTwoExperimentsNeedAreSharedAndTimedOnesStandAlone) {
  Experiment a = read_text(kSmallExperiment), b = a, timed = a;
  b.name = "other";
  timed.name = "timed";
  timed.metrics[1].quantity = Quantity::seconds;
  const std::vector<Plan> plans{make_plan(a, "short", Device::cpu), make_plan(b, "short", Device::cpu),
                                make_plan(timed, "short", Device::cpu)};
  const TemporaryFolder out;
  const auto results = reproduce_small(plans, out.path(), 3).results;
  EXPECT_EQ(results[0].cells[0].seeds[0].folder, results[1].cells[0].seeds[0].folder);
  EXPECT_NE(results[0].cells[0].seeds[0].folder, results[2].cells[0].seeds[0].folder);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out.path() / "runs"), {}), 4);
}

// A run that has begun and not ended has no summary.
std::ptrdiff_t runs_under_way(const std::filesystem::path& runs) {
  std::ptrdiff_t count = 0;
  for (const auto& run : std::filesystem::directory_iterator(runs))
    count += std::filesystem::exists(run.path() / "config.json") &&
             !std::filesystem::exists(run.path() / "summary.json");
  return count;
}

TEST(Reproduce, RunsWithATimeLimitAreAloneAndSoIsTheirTuning) {
  Experiment e = read_text(kSmallExperiment);
  e.budgets["quick"].time_limit = 1000;
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder out;
  std::atomic<std::ptrdiff_t> most = 0;
  ReproduceOptions options;
  options.out = out.path();
  options.jobs = 4;
  options.interrupted = [&] {
    if (std::filesystem::exists(out.path() / "runs"))
      most = std::max(most.load(), runs_under_way(out.path() / "runs"));
    return false;
  };
  const auto results = reproduce(plans, options);
  EXPECT_TRUE(results[0].complete());
  EXPECT_EQ(most, 1);
  for (const auto& run : std::filesystem::directory_iterator(out.path() / "runs"))
    EXPECT_TRUE(run.path().filename().string().ends_with("-alone")) << run.path();
  // Another process leaves all of them to this one.
  const TemporaryFolder others;
  options.out = others.path();
  options.times_runs = false;
  reproduce(plans, options);
  EXPECT_FALSE(std::filesystem::exists(others.path() / "runs"));
}

// Nine layers whose bases change in nearly every step: the log of each run is longer than a megabyte.
constexpr const char* kManyChanges = R"(
name = "quiet"
title = "Many changes"
claim = "None."
recipe = "quick"

[settings]
network.width = 3
network.depth = 8
training.points.interior = 8
training.points.initial = 4
training.points.walls = 4
training.reference = false
optimizer.trigger = 0

[[problem]]
name = "heat-1d"

[[variant]]
name = "in-a-table"
optimizer = "ss-esoap"
settings.optimizer.learning_rate = 1e-3

[[variant]]
name = "checked"
optimizer = "ss-esoap"
settings.optimizer.learning_rate = 2e-3

[[variant]]
name = "not-looked-at"
optimizer = "ss-esoap"
settings.optimizer.learning_rate = 3e-3

[[metric]]
quantity = "mean_square"

[budget.quick]
steps = 700
)";

TEST(Reproduce, KeepsALongLogThatAnyOfTheExperimentsReadsWhicheverBeginsTheRun) {
  const Experiment quiet = read_text(kManyChanges);
  Experiment table = quiet, checking = quiet;
  table.name = "table";
  table.events = true;
  table.variants = {quiet.variants[0]};
  table.variants[0].settings.clear();
  table.variants[0].grid = {{"optimizer.learning_rate", {"1e-3", "1e-4"}}};
  table.budgets["quick"].tuning_steps = 2;
  checking.name = "checking";
  checking.variants = {quiet.variants[1]};
  checking.checks.emplace_back();
  checking.checks[0].variant = "checked";
  checking.checks[0].events = "rho_after_10";
  const std::vector<Plan> plans{make_plan(quiet, "quick", Device::cpu),
                                make_plan(table, "quick", Device::cpu),
                                make_plan(checking, "quick", Device::cpu)};
  const TemporaryFolder out;
  const auto results = reproduce_small(plans, out.path(), 1).results;
  const auto log_of = [&](std::size_t plan, std::size_t cell) {
    return results[plan].cells[cell].seeds[0].folder / "events.jsonl";
  };
  // The table's tuning may choose either rate.
  for (const auto& log : {log_of(0, 0), log_of(1, 0), log_of(0, 1)}) {
    ASSERT_TRUE(std::filesystem::exists(log));
    EXPECT_GT(std::filesystem::file_size(log), std::uintmax_t{1} << 20);
  }
  EXPECT_EQ(log_of(2, 0), log_of(0, 1));
  EXPECT_FALSE(std::filesystem::exists(log_of(0, 2)));
}

TEST(Reproduce, OutOfMemoryIsAResultAndAnErrorIsTriedAgain) {
  std::string text = small_experiment::with(kSmallExperiment, "name = \"ss-esoap\"", "name = \"ss-bfgs\"");
  text = small_experiment::with(text, "settings.optimizer.learning_rate = 1e-2",
                                "settings.network.width = 4096");
  text = small_experiment::with(text, "ss-esoap = [2e-3, 1e-4]", "ss-bfgs = \"OOM\"");
  text = small_experiment::with(text, "[settings]",
                                "[settings]\ntraining.reference = false");  // 20 steps solve nothing
  const Experiment e = read_text(text);
  const std::vector<Plan> plans{make_plan(e, "short", Device::cpu)};
  const TemporaryFolder out;
  const auto results = reproduce_small(plans, out.path(), 1).results;
  ASSERT_EQ(results[0].cells[1].seeds[0].status, RunStatus::out_of_memory)
      << results[0].cells[1].seeds[0].message;
  EXPECT_EQ(measure(results[0], e.metrics[0], results[0].cells[1]).text(), "out of memory");
  EXPECT_EQ(judge(results[0], e.metrics[0], "heat-1d").kind, Verdict::Kind::holds);

  const auto config = plans[0].run(plans[0].cells[0], {}, 1);
  const auto store = run_store(out.path());
  write_file_atomically(store.folder_of(config, false) / "failure.json",
                        R"({"message": "the disk is full"})");
  EXPECT_EQ(store.find(config, false).status, RunStatus::failed);
  EXPECT_EQ(store.run(config, false, Keep::history, {}).status, RunStatus::done);
}

template <class Exception>
train::Watcher watcher_that_throws(const Exception& exception) {
  train::Watcher watcher;
  watcher.interrupted = [exception]() -> bool { throw exception; };
  return watcher;
}

TEST(Reproduce, ARunThatFindsNoMemoryBesideOthersHasNoResultYet) {
  const Experiment e = read_text(kTooLarge);
  const Plan plan = make_plan(e, "quick", Device::cpu);
  const TemporaryFolder out;
  const auto store = run_store(out.path());
  const auto status_of = [&](std::uint64_t seed, const train::Watcher& watcher, Company company) {
    const RunSpec spec = plan.run(plan.cells[1], {}, seed);
    const auto status = store.run(spec, false, Keep::history, watcher, company).status;
    EXPECT_EQ(is_result(store.find(spec, false)),
              status == RunStatus::done || status == RunStatus::out_of_memory);
    return status;
  };
  const auto failed = watcher_that_throws(std::bad_alloc()), no_room = watcher_that_throws(OutOfMemory("")),
             forbidden = watcher_that_throws(MemoryLimitExceeded("H is too large"));
  EXPECT_EQ(status_of(1, failed, Company::others), RunStatus::crowded_out);
  EXPECT_EQ(status_of(1, no_room, Company::others), RunStatus::crowded_out);
  EXPECT_EQ(status_of(1, {}, Company::others), RunStatus::done);
  EXPECT_EQ(status_of(2, failed, Company::none), RunStatus::out_of_memory);
  EXPECT_EQ(status_of(3, no_room, Company::none), RunStatus::out_of_memory);
  EXPECT_EQ(status_of(4, forbidden, Company::others), RunStatus::out_of_memory);
}

TEST(Reproduce, CallsARunOutOfMemoryOnceItWasAlone) {
  const Experiment e = read_text(kTooLarge);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder together, one_by_one;
  const auto lines = [&](const TemporaryFolder& out, int jobs) {
    const auto counted = reproduce_small(plans, out.path(), jobs);
    EXPECT_EQ(counted.results[0].cells[0].seeds[0].status, RunStatus::out_of_memory);
    EXPECT_EQ(counted.results[0].cells[1].seeds[0].status, RunStatus::done);
    return counted.lines;
  };
  const std::string failure = "too-large with adam, seed 1: out of memory";
  const auto beside = lines(together, 2), alone = lines(one_by_one, 1);
  ASSERT_EQ(beside.size(), 2U);
  EXPECT_NE(beside[1].find(failure), std::string::npos) << beside[1];  // after the other run has ended
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_NE(alone[0].find(failure), std::string::npos) << alone[0];
}

// Otherwise another value would be called the best.
TEST(Reproduce, ChoosesNothingWhereATuningRunFailed) {
  const Experiment e = read_text(kSmallExperiment);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder out;
  const auto before = reproduce_small(plans, out.path(), 2).results;
  EXPECT_EQ(before[0].failures(), 0U);
  const auto& cell = plans[0].cells[0];
  const auto folder = run_store(out.path()).folder_of(plans[0].tuning_run(cell, 1), false);
  write_file_atomically(folder / "failure.json", R"({"message": "the disk is full"})");
  const auto results = collect(plans, out.path());
  EXPECT_FALSE(results[0].complete());
  EXPECT_EQ(results[0].failures(), 1U);
  EXPECT_TRUE(results[0].cells[0].chosen.empty());
  EXPECT_EQ(measure(results[0], e.metrics[0], results[0].cells[0]).text(), "not run");
  const Document page = write_page(results, "lather reproduce small");
  EXPECT_NE(page.markdown("pictures").find("tuning: the disk is full"), std::string::npos);
  EXPECT_TRUE(reproduce_small(plans, out.path(), 2).results[0].complete());
}

// And what was tried on the first seed is not tried again when a second one is asked for.
TEST(Reproduce, ASettingIsAsGoodAsOnTheWorstOfTheTuningSeeds) {
  Experiment e = read_text(kSmallExperiment);
  e.variants.resize(1);
  std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder out;
  const std::size_t candidates = plans[0].cells[0].candidates.size();
  const auto on_one = reproduce_small(plans, out.path(), 2);
  EXPECT_EQ(plans[0].tunings(plans[0].cells[0]), candidates);
  e.budgets["quick"].tuning_seeds = 2;
  plans = {make_plan(e, "quick", Device::cpu)};
  const PlannedCell& cell = plans[0].cells[0];
  ASSERT_EQ(plans[0].tunings(cell), 2 * candidates);
  EXPECT_EQ(plans[0].runs(), 2 * candidates + 2);
  const auto on_two = reproduce_small(plans, out.path(), 2);
  for (const auto& line : on_two.lines) EXPECT_EQ(line.find("tuning on seed 1000"), line.npos) << line;
  EXPECT_EQ(std::count_if(on_two.lines.begin(), on_two.lines.end(),
                          [](const auto& line) { return line.find("tuning on seed 1001") != line.npos; }),
            static_cast<std::ptrdiff_t>(candidates));

  const RunStore store = run_store(out.path());
  const auto loss = [&](std::size_t tuning) {
    const auto folder = store.folder_of(plans[0].tuning_run(cell, tuning), false);
    return nlohmann::json::parse(read_file(folder / "summary.json"))
        .at("/final/validation_loss"_json_pointer)
        .get<double>();
  };
  const auto& judged = on_two.results[0].cells[0].judged;
  ASSERT_EQ(judged.size(), candidates);
  for (std::size_t i = 0; i < candidates; ++i) {
    EXPECT_EQ(on_one.results[0].cells[0].judged[i], loss(i));
    EXPECT_EQ(judged[i], std::max(loss(i), loss(candidates + i)));
  }
  const auto best = std::min_element(judged.begin(), judged.end()) - judged.begin();
  const auto& chosen = on_two.results[0].cells[0].chosen;
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(chosen[0].value, cell.candidates[static_cast<std::size_t>(best)][0].value);
  EXPECT_EQ(chosen[1].value, cell.candidates[static_cast<std::size_t>(best)][1].value);
  EXPECT_NE(write_page(on_two.results, "lather reproduce small")
                .markdown("pictures")
                .find("largest held-out loss after 15 steps on 2 seeds that are not reported"),
            std::string::npos);
}

TEST(Reproduce, ADamagedFileCostsItsRunAndNoOther) {
  const Experiment e = read_text(kSmallExperiment);
  const std::vector<Plan> plans{make_plan(e, "short", Device::cpu)};
  const TemporaryFolder out;
  const auto before = reproduce_small(plans, out.path(), 1).results;
  const auto expected = histories(before[0]);
  const auto folder = before[0].cells[1].seeds[0].folder;
  for (const char* text : {"{\"reason\": \"st", "[]"}) {
    write_file_atomically(folder / "summary.json", text);
    write_file_atomically(folder / "environment.json", text);
    const auto damaged = collect(plans, out.path());
    EXPECT_EQ(damaged[0].cells[0].seeds[0].status, RunStatus::done);
    EXPECT_EQ(damaged[0].cells[1].seeds[0].status, RunStatus::failed);
    EXPECT_NE(damaged[0].cells[1].seeds[0].message.find(folder.string()), std::string::npos);
    write_page(damaged, "lather reproduce small");
    const auto again = reproduce_small(plans, out.path(), 1).results;
    EXPECT_TRUE(again[0].complete()) << again[0].cells[1].seeds[0].message;
    EXPECT_EQ(histories(again[0]), expected);
  }
}

TEST(Reproduce, DataBelongToTheIdentityOfARunAndWhereTheyAreDoesNot) {
  const auto name_in = [](const std::filesystem::path& folder, const std::string& data) {
    write_file_atomically(folder / "points.csv", data);
    write_file_atomically(folder / "a.toml", R"(
name = "a"
coordinates = ["x"]
fields = ["u"]
[domain]
x = [0, 1]
[[equation]]
name = "flat"
residual = "u_xx"
[[data]]
name = "data"
file = "points.csv"
residual = "u - value"
)");
    Experiment e = read_text(kSmallExperiment);
    e.problems[0].problem = (folder / "a.toml").string();
    e.settings.clear();
    const Plan plan = make_plan(e, "short", Device::cpu);
    return RunStore("runs").folder_of(plan.run(plan.cells[0], {}, 1), false).filename();
  };
  const TemporaryFolder one, two;
  const auto name = name_in(one.path(), "x,value\n0,1\n1,2\n");
  EXPECT_EQ(name_in(two.path(), "x,value\n0,1\n1,2\n"), name);
  EXPECT_NE(name_in(two.path(), "x,value\n0,1\n1,3\n"), name);
}

TEST(Reproduce, WritesTablesAPictureAndAPage) {
  const Experiment e = read_text(kSmallExperiment);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder out;
  const auto results = reproduce_small(plans, out.path(), 2).results;
  write_experiment(results[0], out.path());
  for (const char* name : {"small.md", "small.csv", "small.tex", "small-steps.svg", "small-steps.pdf"})
    EXPECT_GT(std::filesystem::file_size(out.path() / name), 100U) << name;
  const std::string pdf = read_file(out.path() / "small-steps.pdf");
  EXPECT_EQ(pdf.substr(0, 8), "%PDF-1.4");
  EXPECT_NE(pdf.find("(Adam) Tj"), std::string::npos);
  // Objects begin where the object table says they do.
  const auto first = pdf.find(" 00000 n ", pdf.find("xref\n"));
  EXPECT_EQ(pdf.substr(std::stoul(pdf.substr(first - 10, 10)), 7), "1 0 obj");
  const auto table = values_table(results[0]);
  ASSERT_EQ(table.rows.size(), 4U);  // ours, the paper's, ratio; and an error that the paper does not print
  EXPECT_EQ(table.rows[1][3].text, "2.00e-03 ± 1.0e-04");
  EXPECT_NE(table.rows[0][2].text.find("±"), std::string::npos);
  const auto runs = runs_table(results);
  ASSERT_EQ(runs.rows.size(), 8U);  // two methods, two seeds, two metrics
  EXPECT_EQ(runs.rows[2][4].text, "2");
  EXPECT_EQ(std::stod(runs.rows[2][7].text),
            value_of(results[0].cells[0].seeds[1], Quantity::mean_square, false));
  const Document page = write_page(results, "lather reproduce small");
  EXPECT_NE(page.html().find("<svg"), std::string::npos);
  EXPECT_NE(page.markdown("figures").find("](figures/small-steps.svg)"), std::string::npos);
  EXPECT_NE(page.markdown("figures").find("Adam leads."), std::string::npos);
  // Machine and commit are those recorded by the runs, even if they differ.
  const auto file = results[0].cells[0].seeds[0].folder / "environment.json";
  auto environment = nlohmann::json::parse(read_file(file));
  const std::string built = environment["commit"];
  environment["commit"] = "0000000";
  write_file_atomically(file, environment.dump());
  const std::string text = write_page(results, "lather reproduce small").markdown("figures");
  EXPECT_NE(text.find("commits 0000000, " + built), std::string::npos);
}

}  // namespace
}  // namespace lather::experiment
