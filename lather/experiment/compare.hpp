#pragma once
// Some optimizers, some seeds, one table: what `lather compare` does, for callers of every kind. Neither prints nor
// exits.

#include <functional>
#include <string>
#include <vector>

#include "lather/experiment/experiment.hpp"
#include "lather/report/comparison.hpp"
#include "lather/train/session.hpp"

namespace lather::experiment {

// An optimizer under a name of its own, with settings of its own; runs are called LABEL-SEED.
struct Contestant {
  std::string label, optimizer;
  Settings settings;
};

struct ComparisonRequest {
  train::ConfigRequest request;  // of all runs, but for optimizer and seed
  std::vector<Contestant> contestants;
  std::vector<std::uint64_t> seeds{0, 1, 2};
  bool equal_time = false;  // every run trains for the seconds of `request`, whatever its steps cost
};

struct ComparedRun {
  train::Config config;
  std::filesystem::path folder;  // beneath that of the comparison
};
using ComparedRuns = std::vector<std::vector<ComparedRun>>;  // by contestant, by seed

// Resolved before anything is run: mistakes show at once. Throws Error for labels that cannot name folders, or that are
// there twice.
ComparedRuns compared_runs(const ComparisonRequest& request);

// `chosen`, or runs/compare-PROBLEM-N where it is empty. An earlier comparison may go on in its folder; beside other
// files nothing is written: throws Error.
std::filesystem::path comparison_folder(const std::string& chosen, const std::string& problem);

struct CompareOptions {
  std::filesystem::path out;
  int jobs = 1;  // trainings at a time
  report::ShownStep step = report::ShownStep::best;
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::function<bool()> interrupted = [] { return false; };
  // How a run is trained; without it, silently.
  std::function<train::Outcome(train::Session&)> train;
};

struct ComparisonResult {
  std::vector<report::RunGroup> groups;  // by contestant, what is there
  report::Table table;
  bool complete = false;  // otherwise interrupted, to be resumed by the same call
};

// Trains what is not there yet and writes table.md, table.csv and table.tex.
ComparisonResult run_comparison(const ComparisonRequest& request, const ComparedRuns& runs,
                                const CompareOptions& options);

}  // namespace lather::experiment
