#pragma once
// The runs an experiment asks for within a budget.

#include <string>
#include <vector>

#include "lather/experiment/experiment.hpp"
#include "lather/experiment/run_store.hpp"

namespace lather::experiment {

// Reported seeds are 1, 2, …; settings are chosen on this one and, where a budget has several `tuning_seeds`, on
// those that follow it.
inline constexpr std::uint64_t kTuningSeed = 1000;

// One training as experiments and sweeps need it: one thread, few lines in its history.
struct TrainingRequest {
  std::string problem, recipe, optimizer;
  std::string text = {};  // of the problem; `problem` is then only its name in messages
  Settings settings;
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  // 0: the recipe's
  double seconds = 0;      // 0: no limit
  bool errors = true;      // measured if there is a reference
  Device device = Device::cpu;
};
train::Config resolve_training(const TrainingRequest& request);

// Every combination of values.
std::vector<Settings> grid_points(const std::vector<GridAxis>& axes);

// A method on a problem: one cell of the table.
struct PlannedCell {
  const ProblemEntry* problem = nullptr;
  const VariantEntry* variant = nullptr;
  std::vector<Settings> candidates;  // points of the grid; one: nothing is searched
};

struct Plan {
  const Experiment* experiment = nullptr;
  const Budget* budget = nullptr;
  std::string budget_name;
  Device device = Device::cpu;
  std::vector<PlannedCell> cells;

  bool tunes(const PlannedCell& cell) const { return cell.candidates.size() > 1; }
  // Whether runs would end, or be measured, otherwise beside others: tuning runs; reported ones.
  bool tunes_alone() const { return budget->time_limit > 0; }
  bool trains_alone() const { return tunes_alone() || experiment->timed(); }
  // Includes what the budget sets instead of the problem's own settings: "width 256 [here: width 64]".
  std::string problem_label(const ProblemEntry& problem) const;
  std::size_t runs() const;  // at most: finished ones count too
  // Every candidate on every tuning seed: the first of them, then the second, …
  std::size_t tunings(const PlannedCell& cell) const;
  std::size_t candidate_of(const PlannedCell& cell, std::size_t tuning) const;
  std::uint64_t seed_of(const PlannedCell& cell, std::size_t tuning) const;
  RunSpec tuning_run(const PlannedCell& cell, std::size_t tuning) const;
  RunSpec run(const PlannedCell& cell, const Settings& chosen, std::uint64_t seed) const;
};

// Throws Error for a budget the experiment does not have. The experiment must outlive the plan.
Plan make_plan(const Experiment& experiment, const std::string& budget, Device device);

// Checks that every problem, optimizer and setting of a plan exists, with every value of every grid, and that errors
// that are shown can be measured; throws Error, naming the cell, otherwise.
void check_runs(const Plan& plan);
// The same for every budget.
void check_runs(const Experiment& experiment, Device device = Device::cpu);

// The axes whose chosen value is at the edge of what was searched: the search is not finished there.
std::vector<std::string> at_the_edge(const Plan& plan, const PlannedCell& cell, const Settings& chosen);

}  // namespace lather::experiment
