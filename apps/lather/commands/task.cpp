// `lather task quadratic|logistic|completion`: the paper's matrix problems, several optimizers, several
// seeds, one table.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "arguments.hpp"
#include "commands/commands.hpp"
#include "commands/task/results.hpp"
#include "experiments.hpp"
#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {
namespace {

using matrix::TaskResults;

constexpr std::int64_t kTuningSeed = 1000;   // not among those of usual runs
constexpr double kSecondsBetweenSaves = 10;  // many short runs are not slowed down by writing files

struct TaskArguments {
  std::string task, size = "paper", out, data = experiment_folder() / "matrix-tasks.json";
  std::vector<std::string> optimizers{"adam", "muon", "soap", "purifying-shampoo", "ss-esoap"}, settings;
  std::int64_t seeds = 3, steps = 0, batch = -1, record = 0;
  bool tune = false;
};

void require_names(const TaskArguments& a) {
  const auto tasks = experiment::task_names();
  if (std::find(tasks.begin(), tasks.end(), a.task) == tasks.end())
    throw Error(unknown_name_message("task", a.task, tasks));
  for (auto name = a.optimizers.begin(); name != a.optimizers.end(); ++name) {
    if (std::find(a.optimizers.begin(), name, *name) != name)
      throw Error(fmt::format("--optimizers: '{}' is named twice", *name));
    try {
      optim::find_optimizer(*name);
    } catch (const Error& error) {
      throw Error("--optimizers: " + error.message());
    }
  }
  if (a.batch >= 0 && a.task != "logistic")
    throw Error(fmt::format("--batch: only the logistic task has batches, not {}", a.task));
}

// What the data file and then the user set: per optimizer, and for the problem itself.
struct TaskSettings {
  std::map<std::string, TomlValue> optimizer;
  TomlValue task;
};

TaskSettings merge_settings(const TaskArguments& a, const matrix::TaskData& data) {
  TaskSettings settings;
  for (const auto& name : a.optimizers) {
    const auto stored = data.settings.find(name);
    settings.optimizer[name] = stored == data.settings.end() ? TomlValue{} : stored->second;
  }
  for (const auto& text : a.settings) {
    const auto dot = text.find('.'), equals = text.find('=');
    if (dot == std::string::npos || equals == std::string::npos || dot > equals)
      throw Error(fmt::format(
          "--set {}: expected OPTIMIZER.KEY=VALUE, optimizer.KEY=VALUE (all of them) or task.KEY=VALUE",
          text));
    const std::string owner = text.substr(0, dot), key = text.substr(dot + 1, equals - dot - 1);
    if (a.tune && owner != "task" && key == "learning_rate")
      throw Error(fmt::format("--set {}: --tune chooses the learning rates; give one or the other", text));
    if (a.batch >= 0 && owner == "task" && key == "batch")
      throw Error(fmt::format("--set {}: --batch sets the same; give one or the other", text));
    TomlValue root;
    set_toml(root, text.substr(0, equals), text.substr(equals + 1));
    const TomlValue& given = *root.find(owner);
    if (owner == "task")
      merge_toml(settings.task, given);
    else if (owner == "optimizer")
      for (auto& [name, chosen] : settings.optimizer) merge_toml(chosen, given);
    else if (settings.optimizer.count(owner))
      merge_toml(settings.optimizer[owner], given);
    else
      throw Error("--set " + text + ": " + unknown_name_message("optimizer", owner, a.optimizers));
  }
  if (a.batch >= 0) set_toml(settings.task, "batch", std::to_string(a.batch));
  return settings;
}

experiment::MatrixTask task_for(const TaskArguments& a, const TaskSettings& settings, std::int64_t seed) {
  return experiment::make_task(a.task,
                               a.size == "small" ? experiment::TaskSize::small : experiment::TaskSize::paper,
                               settings.task.to_json(), seed);
}

// Fails before hours are spent, not after.
void require_all_usable(const TaskResults& results, const experiment::MatrixTask& task) {
  for (const auto& [name, spec] : results.specs) {
    try {
      experiment::require_usable(results.task, task, spec);
    } catch (const Error& error) {
      throw Error(fmt::format("--optimizers: {} cannot be used on the {} task: {}", name, results.task,
                              error.message()));
    }
  }
}

experiment::TaskCurve run_one(experiment::MatrixTask& task, const optim::OptimizerSpec& spec,
                              std::int64_t steps, std::int64_t record) {
  return experiment::run_task(task, spec, {steps, record, matrix::table_steps(steps)},
                              CatchInterrupts::caught);
}

// The metric at the end; infinite, and so worse than any, if the run diverged.
double reached_by(const experiment::TaskCurve& curve, const TaskResults& results) {
  const double value = curve.points.at(results.steps).metrics[results.judged];
  return curve.not_finite || !std::isfinite(value) ? std::numeric_limits<double>::infinity() : value;
}

// The learning rate with the lowest final value of the metric; none: interrupted. Throws Error if the run
// diverges with every one of them.
std::optional<double> best_learning_rate(const TaskResults& results, experiment::MatrixTask& task,
                                         const std::string& name, TomlValue settings) {
  double best_rate = 0, best = std::numeric_limits<double>::infinity();
  for (const double rate : results.data.learning_rates) {
    set_toml(settings, "learning_rate", nlohmann::json(rate).dump());
    const auto curve = run_one(task, matrix::spec_of(name, settings), results.steps, results.steps);
    if (curve.interrupted) return {};
    const double reached = reached_by(curve, results);
    say("  {} learning_rate {:g}: {} {}\n", name, rate, results.data.metric,
        std::isfinite(reached) ? fmt::format("{:.3e}", reached) : "not finite, diverged");
    std::fflush(stdout);
    if (reached < best) best_rate = rate, best = reached;
  }
  if (best_rate > 0) return best_rate;
  throw Error(fmt::format(
      "--tune: {} diverges with every learning rate of the grid ({:g}); leave it out of --optimizers, or set "
      "its learning rate without --tune",
      name, fmt::join(results.data.learning_rates, ", ")));
}

// On a seed that is not reported. False: interrupted.
bool tune(TaskResults& results, experiment::MatrixTask task, TaskSettings& settings) {
  for (const auto& name : results.optimizers) {
    const auto described = optim::find_optimizer(name).describe();
    if (std::none_of(described.begin(), described.end(),
                     [](const auto& field) { return field.name == "learning_rate"; }))
      continue;
    const auto rate = best_learning_rate(results, task, name, settings.optimizer[name]);
    if (!rate) return false;
    set_toml(settings.optimizer[name], "learning_rate", nlohmann::json(*rate).dump());
    results.specs[name] = matrix::spec_of(name, settings.optimizer[name]);
  }
  return true;
}

// Saves what has ended every few seconds, so that it survives whatever happens later. False: interrupted.
bool run_all(const TaskArguments& a, const TaskSettings& settings, TaskResults& results) {
  const std::int64_t record = a.record > 0 ? a.record : std::max<std::int64_t>(1, results.steps / 30);
  const Stopwatch clock;
  double next_save = 0;
  for (std::int64_t seed = 0; seed < a.seeds; ++seed) {
    auto task = task_for(a, settings, seed);
    for (const auto& name : a.optimizers) {
      auto curve = run_one(task, results.specs.at(name), results.steps, record);
      if (curve.interrupted) return false;
      say("{} seed {}: {} {:.3e} after {} steps, {:.1f} s{}\n", name, seed, results.data.metric,
          curve.points.at(results.steps).metrics[results.judged], results.steps, curve.seconds,
          curve.ending.empty() ? "" : " (" + curve.ending + ")");
      std::fflush(stdout);
      results.curves[name].push_back(std::move(curve));
      if (a.out.empty() || clock.seconds() < next_save) continue;
      matrix::write_results(results, a.out);
      next_save = clock.seconds() + kSecondsBetweenSaves;
    }
  }
  return true;
}

void print_results(const TaskResults& results) {
  if (results.curves.empty()) return;
  say("\n{}\n", matrix::table_of(results));
  for (const auto& name : results.optimizers)
    say("{}: {}\n", name, options::to_json(results.specs.at(name)).dump());
}

int compare_on_task(const TaskArguments& a) {
  require_names(a);
  TaskResults results;
  results.task = a.task;
  results.size = a.size;
  results.optimizers = a.optimizers;
  results.seeds = a.seeds;
  results.data = matrix::read_task_data(a.data, a.task);
  if (a.tune && results.data.learning_rates.empty())
    throw Error(fmt::format("--tune: {} has no learning_rate_grid", a.data));
  results.steps = a.steps > 0 ? a.steps : results.data.steps;
  auto settings = merge_settings(a, results.data);
  for (const auto& name : a.optimizers) results.specs[name] = matrix::spec_of(name, settings.optimizer[name]);
  {
    const auto task = task_for(a, settings, 0);
    results.metrics = task.problem->metric_names();
    require_all_usable(results, task);
  }
  results.judged = static_cast<std::size_t>(
      std::find(results.metrics.begin(), results.metrics.end(), results.data.metric) -
      results.metrics.begin());
  if (!a.out.empty()) matrix::require_writable(a.out);

  const CatchInterrupts guard;
  bool complete = false;
  try {
    complete = (!a.tune || tune(results, task_for(a, settings, kTuningSeed), settings)) &&
               run_all(a, settings, results);
  } catch (...) {  // a full disk, say: what has ended is at least shown
    print_results(results);
    throw;
  }
  print_results(results);
  const bool written = !a.out.empty() && !results.curves.empty();
  if (written) {
    matrix::write_results(results, a.out);
    say("wrote {0}/curves.csv, {0}/table.md and {0}/settings.json\n", a.out);
  }
  if (complete) return 0;
  say_aside("interrupted: {} of {} runs have ended{}\n", results.runs_ended(), results.runs(),
            written ? " and are in " + a.out : "");
  return 130;
}

}  // namespace

void add_task(CLI::App& app, int& exit_status) {
  auto* task = app.add_subcommand("task", "Compare optimizers on the paper's matrix problems");
  auto a = std::make_shared<TaskArguments>();
  task->add_option("task", a->task, "quadratic, logistic or completion")->required();
  task->add_option("--optimizers", a->optimizers, "names, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  task->add_option("--seeds", a->seeds, "number of seeds")
      ->transform(whole_number(1, 1000000))
      ->capture_default_str();
  task->add_option("--steps", a->steps, "steps per run (default: from the task's data file)")
      ->transform(whole_number(1, matrix::kMostSteps));
  task->add_option("--batch", a->batch, "logistic: samples per step; 0: all")
      ->transform(whole_number(0, matrix::kMostSteps));
  task->add_option("--record", a->record,
                   "steps between points of the curves (default: a thirtieth of the steps)")
      ->transform(whole_number(1, matrix::kMostSteps));
  task->add_option("--size", a->size, "paper, or small for a quick run")
      ->check(CLI::IsMember({"paper", "small"}))
      ->capture_default_str();
  task->add_option("--set", a->settings,
                   "OPTIMIZER.KEY=VALUE; optimizer.KEY=VALUE for all of them (schedule.decay=cosine …); "
                   "task.KEY=VALUE for the problem");
  task->add_flag("--tune", a->tune, "first search the paper's grid of learning rates, for each optimizer");
  task->add_option("--out", a->out,
                   "folder for curves.csv, table.md and settings.json; if interrupted, they hold the runs "
                   "that have ended");
  task->add_option("--data", a->data, "the paper's numbers and the settings")->capture_default_str();
  task->footer(
      "Examples:\n  lather task quadratic --size small --seeds 1\n"
      "  lather task completion --optimizers adam,ss-esoap --tune --out runs/completion\n"
      "  lather task quadratic --set optimizer.schedule.decay=exponential --set optimizer.schedule.every=25 "
      "--set optimizer.schedule.rate=0.95");
  task->callback([a, &exit_status] { exit_status = compare_on_task(*a); });
}

}  // namespace lather::command
