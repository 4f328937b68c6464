#pragma once
// Several optimizers, several seeds, one table: what `lather compare` does, for any caller. Neither prints
// nor exits.

#include <functional>
#include <string>
#include <vector>

#include "lather/batch/training_request.hpp"
#include "lather/report/comparison.hpp"
#include "lather/train/session.hpp"

namespace lather::batch {

// An optimizer with its own label and settings; runs are named LABEL-SEED.
struct Contestant {
  std::string label, optimizer;
  Settings settings;
};

struct ComparisonRequest {
  train::ConfigRequest request;  // for all runs, except optimizer and seed
  std::vector<Contestant> contestants;
  std::vector<std::uint64_t> seeds{0, 1, 2};
  bool equal_time = false;  // every run trains for the seconds given in `request`, whatever its steps cost
};

struct ComparedRun {
  train::Config config;
  std::filesystem::path folder;  // relative to the comparison's folder
};
using ComparedRuns = std::vector<std::vector<ComparedRun>>;  // by contestant, by seed

// Resolved before anything runs, so that mistakes show at once. Throws Error for labels that cannot be folder
// names or that occur twice.
ComparedRuns compared_runs(const ComparisonRequest& request);

// `chosen`, or runs/compare-PROBLEM-N if it is empty. An earlier comparison may be continued in its folder.
// Throws Error, and writes nothing, if the folder holds other files.
std::filesystem::path comparison_folder(const std::string& chosen, const std::string& problem);

struct CompareOptions {
  std::filesystem::path out;
  int jobs = 1;  // trainings at a time
  report::ShownStep step = report::ShownStep::best;
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::function<bool()> interrupted = [] { return false; };
  Stop* stop = nullptr;  // breaks off steps of the runs, which are then saved
  // Trains a run; without it, runs train silently.
  std::function<train::Outcome(train::Session&)> train;
};

struct ComparisonResult {
  std::vector<report::RunGroup> groups;  // by contestant, as far as there are results
  report::Table table;
  bool complete = false;  // otherwise it was interrupted; the same call resumes it
};

// Trains the missing runs and writes table.md, table.csv and table.tex.
ComparisonResult run_comparison(const ComparisonRequest& request, const ComparedRuns& runs,
                                const CompareOptions& options);

}  // namespace lather::batch
