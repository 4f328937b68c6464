#include "lather/experiment/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/train/trainer.hpp"

namespace lather::experiment {

namespace {

// History lines and validations per run: enough for a curve, few enough for hundreds of runs.
constexpr std::int64_t kHistoryLines = 200, kValidations = 50, kTaskPoints = 30;

// The values of an axis that a budget tries: `count` of them, evenly spaced, ends included.
std::vector<std::string> tried(const GridAxis& axis, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(axis.values.size());
  if (count == 0 || count >= size) return axis.values;
  if (count == 1) return {axis.values[static_cast<std::size_t>(size / 2)]};
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(axis.values[static_cast<std::size_t>(i * (size - 1) / (count - 1))]);
  return values;
}

std::vector<GridAxis> searched(const Budget& budget, const VariantEntry& variant) {
  std::vector<GridAxis> axes;
  if (budget.tuning_steps == 0) return axes;
  for (const auto& axis : variant.grid)
    if (is_wanted(budget.axes, axis.path)) axes.push_back({axis.path, tried(axis, budget.grid_values)});
  return axes;
}

void append(Settings& all, const Settings& more) { all.insert(all.end(), more.begin(), more.end()); }

// A problem's file is part of a run's identity; its name is enough, so that a run can be moved to another
// machine. Problems that read other files keep the whole path so that these can be found.
void leave_out_folder(train::Config& config) {
  if (!train::external_files(config).empty()) return;
  config.problem.file = std::filesystem::path(config.problem.file).filename().string();
}

constexpr auto is_error = [](const auto& entry) {  // a metric or a figure
  return entry.quantity == Quantity::l2 || entry.quantity == Quantity::h1;
};

// In a table or a picture.
bool shows_errors(const Experiment& e, const ProblemEntry& problem) {
  return e.maps.shows(problem.name) || std::any_of(e.metrics.begin(), e.metrics.end(), is_error) ||
         std::any_of(e.figures.begin(), e.figures.end(), is_error);
}

// Errors are measured to be shown, and so that a small residual of something else than the solution is seen.
// Not for the latter where time is measured: it would count.
bool wants_errors(const Experiment& e, const ProblemEntry& problem) {
  const auto is_judged = [](const MetricEntry& metric) { return is_of_the_solution(metric.quantity); };
  return shows_errors(e, problem) ||
         (!e.timed() && std::any_of(e.metrics.begin(), e.metrics.end(), is_judged));
}

// What applies to a cell; later settings override earlier ones.
Settings settings_of(const Plan& plan, const PlannedCell& cell, const Settings& chosen) {
  const auto& budget = *plan.budget;
  const auto own = [](const auto& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? Settings{} : found->second;
  };
  Settings all;
  for (const Settings& some :
       {plan.experiment->settings, budget.settings, cell.problem->settings, cell.variant->settings,
        own(budget.problem, cell.problem->name), own(budget.variant, cell.variant->name), chosen})
    append(all, some);
  return all;
}

Error at_cell(const Plan& plan, const PlannedCell& cell, const Error& error) {
  return Error(error.where(), fmt::format("{}: {} with {}: {}", plan.experiment->name, cell.problem->name,
                                          cell.variant->name, error.message()));
}

TaskSpec task_run(const Plan& plan, const PlannedCell& cell, const Settings& chosen, std::uint64_t seed,
                  std::int64_t steps) {
  try {
    TomlValue tree;
    for (const auto& [path, value, where] : settings_of(plan, cell, chosen)) {
      if (!path.starts_with("optimizer.") && !path.starts_with("task."))
        throw Error(where,
                    fmt::format("{}: a matrix problem has settings optimizer.… and task.… only", path));
      if (path == "task.seed")
        throw Error(where,
                    "task.seed: the seed of a matrix problem is that of the run, 1, 2, … up to `seeds`");
      set_toml(tree, path, value, where);
    }
    TomlValue optimizer, task;
    if (const auto* found = tree.find("optimizer")) optimizer = *found;
    if (const auto* found = tree.find("task")) task = *found;
    set_toml(optimizer, "name", cell.variant->optimizer);
    TaskSpec spec;
    spec.task = cell.problem->task;
    spec.seed = static_cast<std::int64_t>(seed);
    spec.length = {steps, std::max<std::int64_t>(1, steps / kTaskPoints), {}};
    for (const auto& metric : plan.experiment->metrics)
      if (metric.step > 0 && metric.step < steps) spec.length.also.push_back(metric.step);
    nlohmann::json settings = task.to_json();
    if (settings.contains("size")) {
      if (settings["size"] != "small" && settings["size"] != "paper")
        throw Error(unknown_name_message("task.size", settings["size"].dump(),
                                         std::vector<std::string>{"paper", "small"}));
      spec.size = settings["size"] == "small" ? TaskSize::small : TaskSize::paper;
      settings.erase("size");
    }
    spec.settings = settings.dump();
    spec.optimizer = options::to_json(optim::read_optimizer(optimizer)).dump();
    if (spec.size == TaskSize::small) make_task(spec.task, spec.size, settings, 0);  // checks its keys
    return spec;
  } catch (const Error& error) {
    throw at_cell(plan, cell, error);
  }
}

train::Config resolve_run(const Plan& plan, const PlannedCell& cell, const Settings& chosen,
                          std::uint64_t seed, std::int64_t steps) {
  const auto instead = cell.variant->instead.find(cell.problem->name);
  TrainingRequest request;
  request.problem = instead == cell.variant->instead.end() ? cell.problem->problem : instead->second;
  request.recipe = plan.experiment->recipe;
  request.optimizer = cell.variant->optimizer;
  request.settings = settings_of(plan, cell, chosen);
  request.seed = seed;
  request.steps = steps;
  request.seconds = plan.budget->time_limit;
  request.errors = wants_errors(*plan.experiment, *cell.problem);
  request.device = plan.device;
  try {
    return resolve_training(request);
  } catch (const Error& error) {
    throw at_cell(plan, cell, error);
  }
}

// Throws Error if the experiment shows errors of this cell and there is no solution to measure them by.
void require_truth(const Plan& plan, const PlannedCell& cell, const train::Config& config) {
  const Experiment& e = *plan.experiment;
  if (!shows_errors(e, *cell.problem) || !config.record.reference) return;
  const auto metric = std::find_if(e.metrics.begin(), e.metrics.end(), is_error);
  const pde::Problem problem = train::read_problem(config);
  if (!problem.exact.empty() || !problem.reference.solver.empty()) return;
  throw at_cell(
      plan, cell,
      Error(metric != e.metrics.end() ? metric->where : cell.problem->where,
            fmt::format("{} cannot be measured: the problem has no [reference]; "
                        "`training.reference = false` in the settings of its row leaves it out",
                        metric != e.metrics.end() ? std::string(name_of(metric->quantity)) : "the error")));
}

// The axis without which a point of the grid that cannot be run can be.
std::size_t axis_at_fault(const Plan& plan, const PlannedCell& cell, const Settings& point,
                          std::size_t otherwise) {
  for (std::size_t a = 0; a < point.size(); ++a) {
    Settings rest = point;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(a));
    try {
      plan.run(cell, rest, 1);
      return a;
    } catch (const Error&) {
    }
  }
  return otherwise;
}

// Tries every value of every axis of the cell's grid, searched in this budget or not. Those of the optimizer are the
// same on every problem and tried on the first.
void check_grid(const Plan& plan, const PlannedCell& cell, bool is_first) {
  const auto& grid = cell.variant->grid;
  Settings point;
  for (const auto& axis : grid) point.push_back({axis.path, axis.values.back()});
  for (std::size_t a = 0; a < grid.size(); ++a) {
    if (!is_first && grid[a].path.starts_with("optimizer.")) continue;
    for (const auto& value : grid[a].values) {
      point[a].value = value;
      try {
        plan.run(cell, point, 1);
      } catch (const Error& error) {
        plan.run(cell, {}, 1);  // a mistake outside the grid is reported as such
        const std::size_t at = axis_at_fault(plan, cell, point, a);
        throw Error(grid[at].where,
                    fmt::format("grid.{} = {}: {}", grid[at].path, point[at].value, error.message()));
      }
    }
  }
}

}  // namespace

train::Config resolve_training(const TrainingRequest& wanted) {
  train::ConfigRequest request;
  request.problem = wanted.problem;
  request.text = wanted.text;
  request.recipe = wanted.recipe;
  request.optimizer = wanted.optimizer;
  request.settings = wanted.settings;
  request.seed = wanted.seed;
  request.threads = 1;  // runs go side by side, and their bits do not depend on how many
  if (wanted.steps > 0) request.steps = wanted.steps;
  if (wanted.seconds > 0) request.seconds = wanted.seconds;
  train::Config config = train::resolve(request);
  const auto set = [&](const char* path) {
    return std::any_of(request.settings.begin(), request.settings.end(),
                       [&](const auto& s) { return s.path == path; });
  };
  if (!set("training.record_every"))
    config.record.record_every = std::max<std::int64_t>(1, config.stop.steps / kHistoryLines);
  if (!set("training.validate_every"))
    config.record.validate_every = std::max<std::int64_t>(1, config.stop.steps / kValidations);
  if (!wanted.errors) config.record.reference = false;
  leave_out_folder(config);
  config.device = wanted.device;  // GPU results can be collected without a GPU
  return config;
}

std::vector<Settings> grid_points(const std::vector<GridAxis>& axes) {
  std::vector<Settings> points{{}};
  for (const auto& axis : axes) {
    std::vector<Settings> longer;
    for (const auto& point : points)
      for (const auto& value : axis.values) {
        longer.push_back(point);
        longer.back().push_back({axis.path, value});
      }
    points = std::move(longer);
  }
  return points;
}

std::string Plan::problem_label(const ProblemEntry& problem) const {
  const auto instead = budget->problem.find(problem.name);
  if (instead == budget->problem.end()) return problem.label;
  std::string changed;
  for (const auto& own : problem.settings)
    for (const auto& [path, value, where] : instead->second)
      if (path == own.path && value != own.value)
        changed +=
            fmt::format("{}{} {}", changed.empty() ? "" : ", ", path.substr(path.rfind('.') + 1), value);
  return changed.empty() ? problem.label : fmt::format("{} [here: {}]", problem.label, changed);
}

std::size_t Plan::runs() const {
  std::size_t count = 0;
  for (const auto& cell : cells) count += tunings(cell) + static_cast<std::size_t>(budget->seeds);
  return count;
}

std::size_t Plan::tunings(const PlannedCell& cell) const {
  return tunes(cell) ? cell.candidates.size() * static_cast<std::size_t>(budget->tuning_seeds) : 0;
}

std::size_t Plan::candidate_of(const PlannedCell& cell, std::size_t tuning) const {
  return tuning % cell.candidates.size();
}

std::uint64_t Plan::seed_of(const PlannedCell& cell, std::size_t tuning) const {
  return kTuningSeed + tuning / cell.candidates.size();
}

RunSpec Plan::tuning_run(const PlannedCell& cell, std::size_t tuning) const {
  const Settings& candidate = cell.candidates[candidate_of(cell, tuning)];
  const std::uint64_t seed = seed_of(cell, tuning);
  if (!cell.problem->task.empty()) return task_run(*this, cell, candidate, seed, budget->tuning_steps);
  train::Config config = resolve_run(*this, cell, candidate, seed, budget->tuning_steps);
  config.record.reference = false;  // settings are chosen by the held-out loss
  config.record.record_every = config.record.validate_every;
  return config;
}

RunSpec Plan::run(const PlannedCell& cell, const Settings& chosen, std::uint64_t seed) const {
  if (!cell.problem->task.empty()) return task_run(*this, cell, chosen, seed, budget->steps);
  return resolve_run(*this, cell, chosen, seed, budget->steps);
}

Plan make_plan(const Experiment& experiment, const std::string& budget, Device device) {
  Plan plan{&experiment, &experiment.budget(budget), budget, device, {}};
  for (const auto& problem : experiment.problems)
    for (const auto& variant : experiment.variants)
      if (plan.budget->runs(problem, variant))
        plan.cells.push_back({&problem, &variant, grid_points(searched(*plan.budget, variant))});
  return plan;
}

void check_runs(const Plan& plan) {
  std::vector<const VariantEntry*> seen;
  for (const auto& cell : plan.cells) {
    const bool is_first = std::find(seen.begin(), seen.end(), cell.variant) == seen.end();
    seen.push_back(cell.variant);
    check_grid(plan, cell, is_first);
    const RunSpec spec = plan.run(cell, cell.candidates.back(), 1);
    if (const auto* config = std::get_if<train::Config>(&spec)) require_truth(plan, cell, *config);
  }
}

void check_runs(const Experiment& experiment, Device device) {
  for (const auto& [name, budget] : experiment.budgets) check_runs(make_plan(experiment, name, device));
}

std::vector<std::string> at_the_edge(const Plan& plan, const PlannedCell& cell, const Settings& chosen) {
  std::vector<std::string> paths;
  for (const auto& axis : searched(*plan.budget, *cell.variant))
    for (const auto& [path, value, where] : chosen)
      if (path == axis.path && axis.values.size() > 1 &&
          (value == axis.values.front() || value == axis.values.back()))
        paths.push_back(path);
  return paths;
}

}  // namespace lather::experiment
