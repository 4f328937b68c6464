// Sweeps: what is tried, in which order; killed, resumed, halved and side-by-side runs equal runs alone.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "lather/batch/sweep/sweep_page.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "train/small_problem.hpp"

namespace lather::batch {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr const char* kSmallSweep = R"(
problem = "heat-1d"
recipe = "quick"
seeds = 2
steps = 18

[settings]
network.depth = 2
training.points.interior = 32
training.points.initial = 8
training.points.walls = 8
training.reference = false

[axes]
network.width = [4, 6]

[[optimizer]]
name = "adam"
axes.optimizer.learning_rate = {low = 1e-3, high = 1e-1, scale = "log", count = 3}

[[optimizer]]
name = "ss-esoap"
settings.optimizer.learning_rate = 1e-2
axes.optimizer.beta2 = [0.9, 0.95, 0.99]
)";

Sweep sweep_of(const std::string& text) { return read_sweep(parse_toml(text, "small.toml"), "small"); }
Sweep sweep_with(const std::string& first_lines) { return sweep_of(first_lines + kSmallSweep); }

std::string error_of(const std::string& text) {
  try {
    const Sweep sweep = sweep_of(text);
    for (const auto& point : sweep_points(sweep)) sweep_run(sweep, point, 0, Device::cpu);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SweepFile, NamesWhatIsWrong) {
  const auto names = [](const std::string& text, const std::string& part) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  names("problem = 'heat-1d'\nmetrics = 'l2'", "metric");
  names("problem = 'heat-1d'\nmetric = 'l3'", "l2");
  names("problem = 'heat-1d'\nsearch = 'halvin'", "halving");
  names("problem = 'heat-1d'\nsearch = 'random'", "samples");
  names("problem = 'heat-1d'\nsamples = 3", "random");
  names("problem = 'heat-1d'\nrounds = 3", "halving");
  names("problem = 'heat-1d'\nseeds = 0", "at least one");
  names("problem = 'heat-1d'\n[axes]\nnetwork.width = 3", "axes.network.width");
  names("problem = 'heat-1d'\n[axes]\nnetwork.width = {low = 3, hig = 4}", "high");
  names("problem = 'heat-1d'\n[axes]\nnetwork.width = {low = 4, high = 3}", "low must be less");
  names("problem = 'heat-1d'\n[axes]\nnetwork.width = {low = 0, high = 3, scale = 'log'}", "positive");
  names("problem = 'heat-1d'\n[axes]\nnetwork.widht = [3]", "width");
  names("problem = 'heat-1d'\n[[optimizer]]\nname = 'adm'", "adam");
  names("problem = 'heat-1d'\n[[optimizer]]\nname = 'adam'\n[[optimizer]]\nname = 'adam'", "label");
  names("problem = 'heat-1'", "heat-1d");
}

TEST(SweepPoints, AreTheGridOrPureFunctionsOfTheSeed) {
  const auto grid = sweep_points(sweep_with(""));
  ASSERT_EQ(grid.size(), 12U);  // 2 widths × (3 rates + 3 beta2)
  EXPECT_EQ(grid[0].label, "adam, width 4, learning_rate 0.001");
  EXPECT_EQ(grid[1].values[1].value, "0.01");
  const auto drawn = [](const std::string& more) {
    std::vector<std::string> labels;
    for (const auto& point : sweep_points(sweep_with("search = 'random'\nsamples = 5\n" + more)))
      labels.push_back(point.label);
    return labels;
  };
  EXPECT_EQ(drawn("").size(), 10U);
  EXPECT_EQ(drawn(""), drawn("seed = 0\n"));
  EXPECT_NE(drawn(""), drawn("seed = 1\n"));
  const auto labels = drawn("");
  EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()).size(), 10U);  // none twice
  double below = 0;
  const auto many =
      sweep_points(sweep_of("problem = 'heat-1d'\nsearch = 'random'\nsamples = 1000\n[axes]\n"
                            "optimizer.learning_rate = {low = 1e-4, high = 1, scale = 'log'}\n"));
  for (const auto& point : many) below += std::stod(point.values[0].value) < 1e-2;
  EXPECT_NEAR(below / 1000, 0.5, 0.08);  // five deviations: half of the decades
}

struct Ran {
  SweepResult result;
  int trained = 0;
};

Ran run_small(const Sweep& sweep, const fs::path& out, int jobs, int most_steps = 1 << 30) {
  std::atomic<int> asked = 0;
  SweepOptions options;
  options.out = out;
  options.jobs = jobs;
  options.interrupted = [&] { return ++asked > most_steps; };
  Ran ran{run_sweep(sweep, options), 0};
  ran.trained = asked;
  return ran;
}

// By label and seed, for finished runs.
std::map<std::string, std::string> histories(const SweepResult& result) {
  std::map<std::string, std::string> all;
  for (const auto& point : result.points)
    for (std::size_t s = 0; s < point.runs.size(); ++s)
      if (point.runs[s].status == RunStatus::done)
        all[point.point.label + "/" + std::to_string(s)] = read_file(point.runs[s].folder / "history.jsonl");
  return all;
}

TEST(Sweep, OfTwentyFourRunsKilledAndResumedHasTheNumbersOfOneInOneGo) {
  const Sweep sweep = sweep_with("");
  const TemporaryFolder whole, parts;
  const auto expected = run_small(sweep, whole.path(), 2);
  ASSERT_TRUE(expected.result.complete);
  ASSERT_EQ(histories(expected.result).size(), 24U);
  const auto first = run_small(sweep, parts.path(), 2, 150);
  EXPECT_FALSE(first.result.complete);
  const auto done = histories(first.result);
  EXPECT_GT(done.size(), 1U);
  EXPECT_LT(done.size(), 24U);
  const auto second = run_small(sweep, parts.path(), 2);
  ASSERT_TRUE(second.result.complete);
  EXPECT_EQ(histories(second.result), histories(expected.result));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(second.result.points[i].point.label, expected.result.points[i].point.label);
    if (i == 0) continue;
    EXPECT_LE(second.result.points[i - 1].score, second.result.points[i].score);
  }
  // Nothing is left to do, and no training is needed to write the page.
  EXPECT_TRUE(collect_sweep(sweep, parts.path(), Device::cpu).complete);
  write_sweep(sweep, second.result, parts.path());
  const std::string table = read_file(parts / "table.csv"), page = read_file(parts / "index.html");
  EXPECT_NE(table.find("optimizer.learning_rate"), std::string::npos) << table;
  EXPECT_NE(page.find("\"label\":\"" + second.result.points[0].point.label), std::string::npos);
}

TEST(Sweep, HalvingGoesOnWithTheBestAndItsRunsAreThoseInOneGo) {
  const Sweep halving = sweep_with("search = 'halving'\nfactor = 3\nrounds = 2\n"), grid = sweep_with("");
  EXPECT_DOUBLE_EQ(share_of_round(halving, 0), 1.0 / 3);
  EXPECT_DOUBLE_EQ(share_of_round(halving, 1), 1);
  const TemporaryFolder folder, interrupted, plain;
  const auto result = run_small(halving, folder.path(), 2).result;
  ASSERT_TRUE(result.complete);
  int finalists = 0;
  double worst_finalist = 0, best_left_out = std::numeric_limits<double>::infinity();
  for (const auto& point : result.points) {
    finalists += point.round == 1;
    if (point.round == 0) best_left_out = std::min(best_left_out, point.score);
    EXPECT_EQ(point.curve.size(), point.round == 1 ? 18U : 6U)
        << point.point.label;  // validated after each step
  }
  EXPECT_EQ(finalists, 4);
  // Each finalist was at least as good after the first round as the best that was left out.
  for (const auto& point : result.points) {
    if (point.round == 0) continue;
    double sum = 0;
    for (const auto& run : point.runs) sum += std::log(curve_of(run.folder, Quantity::residual)[5].value);
    worst_finalist = std::max(worst_finalist, std::exp(sum / 2));
  }
  EXPECT_LE(worst_finalist, best_left_out);
  const auto all = histories(run_small(grid, plain.path(), 2).result);
  const auto ours = histories(result);
  EXPECT_EQ(ours.size(), 8U);
  for (const auto& [name, history] : ours) EXPECT_EQ(history, all.at(name)) << name;
  // Interrupted in both rounds.
  run_small(halving, interrupted.path(), 1, 40);
  run_small(halving, interrupted.path(), 2, 200);
  const auto again = run_small(halving, interrupted.path(), 2).result;
  ASSERT_TRUE(again.complete);
  EXPECT_EQ(histories(again), ours);
}

}  // namespace
}  // namespace lather::batch
