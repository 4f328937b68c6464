#pragma once
// Runs the plans of experiments: chooses settings on seeds that are not reported, trains, several runs at a
// time, and resumes where it stopped. Neither prints nor exits.

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
  bool times_runs = true;  // false: runs that must be alone are left to another process
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::function<bool()> interrupted = [] { return false; };
  Stop* stop = nullptr;  // breaks off steps of the runs, which are then saved
  // Called at the end: what is left, and how long that will take.
  std::function<void(const WorkLeft&)> left = [](const WorkLeft&) {};
};

// Maps are drawn for the first seed.
inline constexpr std::size_t kPicturedSeed = 0;

// The results of a cell.
struct CellResult {
  const PlannedCell* cell = nullptr;
  Settings chosen;  // by tuning
  std::vector<double>
      judged;  // held-out losses of the candidates, the worst of the tuning seeds; infinity: not
               // a number at the end
  std::vector<std::string> edges;   // settings whose best value is the first or last that was tried
  std::vector<RunRecord> seeds;     // of the reported seeds
  std::vector<RunRecord> failures;  // tuning runs that failed: nothing is chosen without them
};

struct ExperimentResult {
  const Plan* plan = nullptr;
  std::vector<CellResult> cells;  // in the order of the plan
  bool complete() const;          // every run has ended, and none has failed
  std::size_t failures() const;   // runs, including those of tuning
};

// Where the runs of all experiments are stored inside the output folder.
RunStore run_store(const std::filesystem::path& out);

// The size of the plans: their runs, and the seconds these take on one core or GPU, if the experiment files
// know it.
struct Estimate {
  std::size_t runs = 0, cells = 0;
  double seconds = 0;
  bool known = true;  // every budget has a measured cost
};
Estimate estimate(std::span<const Plan> plans);

// Runs in an order that gives the broadest result if cut short: the experiments take turns, each gets its
// first seed before any gets its second, and first seeds that must run alone come right after the others.
// Throws Error if the plans want a GPU and there is none.
std::vector<ExperimentResult> reproduce(std::span<const Plan> plans, const ReproduceOptions& options);

// The results so far, without running anything.
std::vector<ExperimentResult> collect(std::span<const Plan> plans, const std::filesystem::path& out);

}  // namespace lather::experiment
