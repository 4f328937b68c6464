#include "lather/experiment/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/train/trainer.hpp"

namespace lather::experiment {

namespace {

// Lines of the history and validations in a run: enough for a curve, few enough for hundreds of runs.
constexpr std::int64_t kHistoryLines = 200, kValidations = 50;

bool is_wanted(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

// The values of an axis that a budget tries: `count` of them, ends included, evenly.
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

void append(Settings& all, const Settings& more) { all.insert(all.end(), more.begin(), more.end()); }

// The file of a problem is part of a run's identity; its name is enough, so that a run may travel to another
// machine. Problems with data keep the whole path, to find them.
void leave_out_folder(train::Config& config) {
  for (const auto& set : train::read_problem(config).point_sets)
    if (!set.file.empty()) return;
  config.problem.file = std::filesystem::path(config.problem.file).filename().string();
}

train::Config resolve_run(const Plan& plan, const PlannedCell& cell, const Settings& chosen,
                          std::uint64_t seed, std::int64_t steps) {
  const auto& budget = *plan.budget;
  const auto own = [](const auto& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? Settings{} : found->second;
  };
  train::ConfigRequest request;
  const auto instead = cell.variant->instead.find(cell.problem->name);
  request.problem = instead == cell.variant->instead.end() ? cell.problem->problem : instead->second;
  request.recipe = plan.experiment->recipe;
  request.optimizer = cell.variant->optimizer;
  append(request.settings, plan.experiment->settings);
  append(request.settings, budget.settings);
  append(request.settings, cell.problem->settings);
  append(request.settings, cell.variant->settings);
  append(request.settings, own(budget.problem, cell.problem->name));
  append(request.settings, own(budget.variant, cell.variant->name));
  append(request.settings, chosen);
  request.seed = seed;
  request.threads = 1;  // runs stand side by side, and their bits do not depend on how many
  request.device = plan.device;
  request.steps = steps;
  if (budget.time_limit > 0) request.seconds = budget.time_limit;
  try {
    train::Config config = train::resolve(request);
    const auto set = [&](const char* path) {
      return std::any_of(request.settings.begin(), request.settings.end(),
                         [&](const auto& s) { return s.path == path; });
    };
    if (!set("training.record_every"))
      config.record.record_every = std::max<std::int64_t>(1, steps / kHistoryLines);
    if (!set("training.validate_every"))
      config.record.validate_every = std::max<std::int64_t>(1, steps / kValidations);
    leave_out_folder(config);
    return config;
  } catch (const Error& error) {
    throw Error(error.where(), fmt::format("{}: {} with {}: {}", plan.experiment->name, cell.problem->name,
                                           cell.variant->name, error.message()));
  }
}

}  // namespace

std::size_t Plan::runs() const {
  std::size_t count = 0;
  for (const auto& cell : cells)
    count += (tunes(cell) ? cell.candidates.size() : 0) + static_cast<std::size_t>(budget->seeds);
  return count;
}

train::Config Plan::tuning_config(const PlannedCell& cell, const Settings& candidate) const {
  train::Config config = resolve_run(*this, cell, candidate, kTuningSeed, budget->tuning_steps);
  config.record.reference = false;  // settings are chosen by the held-out loss
  config.record.record_every = config.record.validate_every;
  return config;
}

train::Config Plan::config(const PlannedCell& cell, const Settings& chosen, std::uint64_t seed) const {
  return resolve_run(*this, cell, chosen, seed, budget->steps);
}

Plan make_plan(const Experiment& experiment, const std::string& budget, Device device) {
  Plan plan{&experiment, &experiment.budget(budget), budget, device, {}};
  for (const auto& problem : experiment.problems) {
    if (!is_wanted(plan.budget->problems, problem.name)) continue;
    for (const auto& variant : experiment.variants) {
      if (!is_wanted(plan.budget->variants, variant.name) || !is_wanted(variant.only, problem.name)) continue;
      plan.cells.push_back({&problem, &variant, grid_points(searched(*plan.budget, variant))});
    }
  }
  return plan;
}

void check_runs(const Experiment& experiment, Device device) {
  for (const auto& [name, budget] : experiment.budgets) {
    const Plan plan = make_plan(experiment, name, device);
    for (const auto& cell : plan.cells) plan.config(cell, cell.candidates.back(), 1);
  }
}

std::vector<std::string> at_the_edge(const Plan& plan, const PlannedCell& cell, const Settings& chosen) {
  std::vector<std::string> paths;
  for (const auto& axis : searched(*plan.budget, *cell.variant))
    for (const auto& [path, value] : chosen)
      if (path == axis.path && axis.values.size() > 1 &&
          (value == axis.values.front() || value == axis.values.back()))
        paths.push_back(path);
  return paths;
}

}  // namespace lather::experiment
