#pragma once
// Runs the plans of experiments: chooses settings on a seed that is not reported, trains, several trainings
// side by side, and goes on where it stopped. Neither prints nor exits.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lather/experiment/plan.hpp"
#include "lather/experiment/run_store.hpp"
#include "lather/experiment/work_left.hpp"

namespace lather::experiment {

struct ReproduceOptions {
  std::filesystem::path out;
  int jobs = 0;  // trainings at a time; 0: one per core. Other processes may work in the same folder
  bool times_runs = true;  // false: runs that are timed are left to another process
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::function<bool()> interrupted = [] { return false; };
  // When it ends: what is left, and how long that will take.
  std::function<void(const WorkLeft&)> left = [](const WorkLeft&) {};
};

// Maps are drawn of the first one.
inline constexpr std::size_t kPicturedSeed = 0;

// What a cell has come to.
struct CellResult {
  const PlannedCell* cell = nullptr;
  Settings chosen;                 // by tuning
  std::vector<double> judged;      // held-out losses of the candidates; infinity: not a number at the end
  std::vector<std::string> edges;  // settings whose best value is the first or last that was tried
  std::vector<RunRecord> seeds;    // of the reported seeds
};

struct ExperimentResult {
  const Plan* plan = nullptr;
  std::vector<CellResult> cells;  // of the plan, in its order
  bool complete() const;          // every run has ended
};

// Where runs of all experiments lie inside the output folder.
RunStore run_store(const std::filesystem::path& out);

// How many of the runs have ended already; with `cost`, the seconds that the
// others will take on one core or GPU, as far as the experiment files know it.
struct Estimate {
  std::size_t runs = 0, cells = 0;
  double seconds = 0;
  bool known = true;  // every budget has a measured cost
};
Estimate estimate(std::span<const Plan> plans);

// In an order in which one that is cut short has the broadest result: the experiments take turns, every one has its
// first seed before any has its second, and those of timed experiments come right after the other first ones.
// Throws Error where the plans want a GPU and there is none.
std::vector<ExperimentResult> reproduce(std::span<const Plan> plans, const ReproduceOptions& options);

// What is there, without running anything.
std::vector<ExperimentResult> collect(std::span<const Plan> plans, const std::filesystem::path& out);

}  // namespace lather::experiment
