// `lather task quadratic|logistic|completion`: the paper's matrix problems, several optimizers, several
// seeds, one table.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "experiments.hpp"
#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"
#include "lather/experiment/matrix_task.hpp"
#include "lather/optim/catalogue.hpp"

namespace lather::command {
namespace {

using Json = nlohmann::json;

struct TaskArguments {
  std::string task, size = "paper", out, data = experiment_folder() / "matrix-tasks.json";
  std::vector<std::string> optimizers{"adam", "muon", "soap", "purifying-shampoo", "ss-esoap"}, settings;
  std::int64_t seeds = 3, steps = 0, batch = -1, record = 0;
  bool tune = false;
};

constexpr int kCheckpoints = 5;

experiment::MatrixTask task_for(const TaskArguments& arguments, Json settings, std::int64_t seed) {
  if (arguments.batch >= 0) settings["batch"] = arguments.batch;
  return experiment::make_task(
      arguments.task, arguments.size == "small" ? experiment::TaskSize::small : experiment::TaskSize::paper,
      settings, seed);
}

// {"schedule.decay": "cosine"} -> {"schedule": {"decay": "cosine"}}, with the name of the optimizer.
optim::OptimizerSpec spec_of(const std::string& name, const Json& settings) {
  TomlValue table;
  set_toml(table, "name", Json(name).dump());
  for (const auto& [key, value] : settings.items())
    set_toml(table, key, value.is_string() ? value.get<std::string>() : value.dump());
  return optim::read_optimizer(table, name);
}

// What the user and the data file set: per optimizer, and for the problem itself.
struct Settings {
  std::map<std::string, Json> optimizer;
  Json task = Json::object();
};

Settings read_settings(const TaskArguments& arguments, const Json& data) {
  Settings settings;
  for (const auto& name : arguments.optimizers) {
    const Json stored = data.value("settings", Json::object());
    settings.optimizer[name] = stored.value(name, Json::object());
  }
  for (const auto& text : arguments.settings) {
    const auto dot = text.find('.'), equals = text.find('=');
    if (dot == std::string::npos || equals == std::string::npos || dot > equals)
      throw Error(fmt::format(
          "--set {}: expected OPTIMIZER.KEY=VALUE, optimizer.KEY=VALUE (all of them) or task.KEY=VALUE",
          text));
    const std::string owner = text.substr(0, dot), key = text.substr(dot + 1, equals - dot - 1),
                      value = text.substr(equals + 1);
    if (owner == "task")
      settings.task[key] = value;
    else if (owner == "optimizer")
      for (auto& [name, chosen] : settings.optimizer) chosen[key] = value;
    else if (settings.optimizer.count(owner))
      settings.optimizer[owner][key] = value;
    else
      throw Error("--set " + text + ": " + unknown_name_message("optimizer", owner, arguments.optimizers));
  }
  return settings;
}

using Run = experiment::TaskCurve;

Run run_one(experiment::MatrixTask& task, const std::string& name, const Json& settings, std::int64_t steps,
            std::int64_t record) {
  experiment::TaskLength length{steps, record, {}};
  for (int k = 1; k <= kCheckpoints; ++k)
    length.also.push_back(k * std::max<std::int64_t>(1, steps / kCheckpoints));
  return experiment::run_task(task, spec_of(name, settings), length);
}

struct Summary {
  double mean, standard_error;
};
Summary summarize(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0};
}
std::string show(const Summary& s) { return fmt::format("{:.2e} ± {:.1e}", s.mean, s.standard_error); }

using Runs = std::map<std::string, std::vector<Run>>;  // by optimizer, one per seed

std::string show_at(const std::vector<Run>& runs, std::int64_t step, std::size_t metric) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(run.points.at(step).metrics[metric]);
  return show(summarize(values));
}

// Markdown, readable as is in a terminal.
std::string make_table(const TaskArguments& arguments, const Json& data, const Runs& runs,
                       const std::vector<std::string>& metric_names, std::size_t main_metric,
                       std::int64_t steps) {
  constexpr int kWidth = 20;
  const Json paper = arguments.size == "paper" ? data.value("paper", Json::object()) : Json::object();
  std::string text = fmt::format("{} of the {} task, mean ± standard error over {} seeds\nPaper: {}\n\n",
                                 metric_names[main_metric], arguments.task, arguments.seeds,
                                 data.value("citation", "no numbers"));
  const std::int64_t every = std::max<std::int64_t>(1, steps / kCheckpoints);
  text += fmt::format("| {:<24} |", "steps");
  for (std::int64_t step = every; step <= steps; step += every)
    text += fmt::format(" {:<{}} |", step, kWidth);
  text += fmt::format("\n|{:-<26}|", "");
  for (std::int64_t step = every; step <= steps; step += every)
    text += fmt::format("{:-<{}}|", "", kWidth + 2);
  for (const auto& name : arguments.optimizers) {
    text += fmt::format("\n| {:<24} |", name);
    for (std::int64_t step = every; step <= steps; step += every)
      text += fmt::format(" {:<{}} |", show_at(runs.at(name), step, main_metric), kWidth);
    if (!paper.contains(name)) continue;
    text += fmt::format("\n| {:<24} |", name + " (paper)");
    for (std::int64_t step = every; step <= steps; step += every)
      text += fmt::format(" {:<{}} |", paper.at(name).value(std::to_string(step), "-"), kWidth);
  }
  text += fmt::format("\n\nAt the last step\n\n| {:<24} |", "optimizer");
  for (const auto& metric : metric_names) text += fmt::format(" {:<{}} |", metric, kWidth + 4);
  text += fmt::format(" seconds per seed |\n|{:-<26}|", "");
  for (std::size_t i = 0; i < metric_names.size(); ++i) text += fmt::format("{:-<{}}|", "", kWidth + 6);
  text += fmt::format("{:-<18}|", "");
  for (const auto& name : arguments.optimizers) {
    text += fmt::format("\n| {:<24} |", name);
    for (std::size_t i = 0; i < metric_names.size(); ++i)
      text += fmt::format(" {:<{}} |", show_at(runs.at(name), steps, i), kWidth + 4);
    double seconds = 0;
    for (const auto& run : runs.at(name)) seconds += run.seconds / static_cast<double>(runs.at(name).size());
    text += fmt::format(" {:<16.1f} |", seconds);
  }
  return text + "\n";
}

void write_curves(const std::string& file, const TaskArguments& arguments, const Runs& runs,
                  const std::vector<std::string>& metric_names) {
  std::ofstream csv(file);
  if (!csv) throw Error("cannot write " + file);
  csv << fmt::format("optimizer,seed,step,{}\n", fmt::join(metric_names, ","));
  for (const auto& name : arguments.optimizers)
    for (std::size_t seed = 0; seed < runs.at(name).size(); ++seed)
      for (const auto& [step, point] : runs.at(name)[seed].points)
        csv << fmt::format("{},{},{},{}\n", name, seed, step, fmt::join(point.metrics, ","));
}

// The learning rate from the paper's grid with the lowest final value of the main metric, tried on a separate
// seed.
double best_learning_rate(experiment::MatrixTask& task, const std::string& name, Json settings,
                          std::int64_t steps, const Json& grid, std::size_t metric) {
  double best_rate = 0, best = std::numeric_limits<double>::infinity();
  for (const double rate : grid.get<std::vector<double>>()) {
    settings["learning_rate"] = rate;
    const double reached = run_one(task, name, settings, steps, steps).points.at(steps).metrics[metric];
    fmt::print("  {} learning_rate {:g}: {:.3e}\n", name, rate, reached);
    std::fflush(stdout);
    if (best_rate == 0 || !(best <= reached)) best_rate = rate, best = reached;
  }
  return best_rate;
}

Json read_data(const std::string& file) {
  std::ifstream stream(file);
  Json data = stream ? Json::parse(stream, nullptr, false) : Json();
  if (!data.is_object())
    throw Error(fmt::format("{}: expected the JSON data of the matrix tasks (option --data)", file));
  return data;
}

void run_task(const TaskArguments& arguments) {
  const Json all = read_data(arguments.data);
  const Json data = all.value(arguments.task, Json::object());
  auto settings = read_settings(arguments, data);
  const std::int64_t steps = arguments.steps > 0 ? arguments.steps : data.value("steps", 1500);
  const std::int64_t record = arguments.record > 0 ? arguments.record : std::max<std::int64_t>(1, steps / 30);

  // Before spending hours, check that all names and options exist.
  const auto names = task_for(arguments, settings.task, 0).problem->metric_names();
  for (const auto& name : arguments.optimizers) spec_of(name, settings.optimizer[name]);
  const auto main = static_cast<std::size_t>(
      std::find(names.begin(), names.end(), data.value("metric", "loss")) - names.begin());
  if (arguments.tune) {
    auto task = task_for(arguments, settings.task, 1000);
    for (const auto& name : arguments.optimizers) {
      const auto described = optim::find_optimizer(name).describe();
      if (std::none_of(described.begin(), described.end(),
                       [](const auto& f) { return f.name == "learning_rate"; }))
        continue;
      settings.optimizer[name]["learning_rate"] =
          best_learning_rate(task, name, settings.optimizer[name], steps, all.at("learning_rate_grid"), main);
    }
  }
  Runs runs;
  for (std::int64_t seed = 0; seed < arguments.seeds; ++seed) {
    auto task = task_for(arguments, settings.task, seed);
    for (const auto& name : arguments.optimizers) {
      auto run = run_one(task, name, settings.optimizer[name], steps, record);
      fmt::print("{} seed {}: {} {:.3e} after {} steps, {:.1f} s{}\n", name, seed, names[main],
                 run.points.at(steps).metrics[main], steps, run.seconds,
                 run.ending.empty() ? "" : " (" + run.ending + ")");
      std::fflush(stdout);
      runs[name].push_back(std::move(run));
    }
  }
  const auto table = make_table(arguments, data, runs, names, main, steps);
  fmt::print("\n{}\n", table);
  for (const auto& name : arguments.optimizers)
    fmt::print("{}: {}\n", name, options::to_json(spec_of(name, settings.optimizer[name])).dump());
  if (arguments.out.empty()) return;
  std::filesystem::create_directories(arguments.out);
  write_curves(arguments.out + "/curves.csv", arguments, runs, names);
  std::ofstream(arguments.out + "/table.md") << table;
  Json used = Json::object();
  for (const auto& name : arguments.optimizers)
    used[name] = options::to_json(spec_of(name, settings.optimizer[name]));
  std::ofstream(arguments.out + "/settings.json") << Json{{"task", arguments.task},
                                                          {"size", arguments.size},
                                                          {"steps", steps},
                                                          {"seeds", arguments.seeds},
                                                          {"optimizers", used}}
                                                         .dump(2)
                                                  << "\n";
  fmt::print("wrote {0}/curves.csv, {0}/table.md and {0}/settings.json\n", arguments.out);
}

}  // namespace

void add_task(CLI::App& app, int&) {
  auto* task = app.add_subcommand("task", "Compare optimizers on the paper's matrix problems");
  auto a = std::make_shared<TaskArguments>();
  task->add_option("task", a->task, "quadratic, logistic or completion")->required();
  task->add_option("--optimizers", a->optimizers, "names, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  task->add_option("--seeds", a->seeds, "number of seeds")->check(CLI::PositiveNumber)->capture_default_str();
  task->add_option("--steps", a->steps, "steps per run (default: from the task's data file)")
      ->check(CLI::PositiveNumber);
  task->add_option("--batch", a->batch, "logistic: samples per step; 0: all")->check(CLI::NonNegativeNumber);
  task->add_option("--record", a->record,
                   "steps between points of the curves (default: a thirtieth of the steps)")
      ->check(CLI::PositiveNumber);
  task->add_option("--size", a->size, "paper, or small for a quick run")
      ->check(CLI::IsMember({"paper", "small"}))
      ->capture_default_str();
  task->add_option("--set", a->settings,
                   "OPTIMIZER.KEY=VALUE; optimizer.KEY=VALUE for all of them (schedule.decay=cosine …); "
                   "task.KEY=VALUE for the problem");
  task->add_flag("--tune", a->tune, "first search the paper's grid of learning rates, for each optimizer");
  task->add_option("--out", a->out, "folder for curves.csv, table.md and settings.json");
  task->add_option("--data", a->data, "the paper's numbers and the settings")->capture_default_str();
  task->footer(
      "Examples:\n  lather task quadratic --size small --seeds 1\n"
      "  lather task completion --optimizers adam,ss-esoap --tune --out runs/completion\n"
      "  lather task quadratic --set optimizer.schedule.decay=exponential --set optimizer.schedule.every=25 "
      "--set optimizer.schedule.rate=0.95");
  task->callback([a] { run_task(*a); });
}

}  // namespace lather::command
