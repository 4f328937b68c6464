#pragma once
// An experiment file: which runs answer one table or figure of a paper, and what the paper says.
//
//   name = "small-network"
//   title = "Burgers with a small network"
//   paper = "Table: small-MLP 1D Burgers"
//   claim = "SS-eSOAP comes close to SS-Broyden and beats SOAP and Adam."
//
//   [settings]                       # of all runs, paths as of `lather train --set`
//   network.width = 20
//
//   [[problem]]                      # rows
//   name = "burgers"
//
//   [[variant]]                      # columns
//   name = "adam"
//   label = "Adam"
//   optimizer = "adam"
//   grid.optimizer.learning_rate = [1e-4, 1e-3, 1e-2]     # searched on seeds that are not reported
//
//   [[metric]]
//   quantity = "mean_square"
//   paper.burgers = {adam = 4.21e-5}
//
//   [budget.quick]
//   steps = 300
//
// docs/experiment-files.md lists every key. A typo is an error that names the place and the nearest key.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/report/quantity.hpp"

namespace lather::experiment {

using report::find_quantity;
using report::Quantity;
using report::quantity_names;

using Settings = std::vector<pde::Override>;

// Of problems, variants, ….
template <class Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

// A row: a problem, or the same one with other settings; or one of the paper's matrix problems.
struct ProblemEntry {
  std::string name, label, problem;
  std::string task;  // quadratic, logistic, completion; empty: it is a problem file
  Settings settings;
  SourceLocation where;
};

// One setting and the values that are tried.
struct GridAxis {
  std::string path;
  std::vector<std::string> values;
  SourceLocation where = {};
};

// A column: a method with its settings.
struct VariantEntry {
  std::string name, label, optimizer;
  Settings settings;
  std::vector<GridAxis> grid;
  std::vector<std::string> only;               // problems it is run on; empty: all
  std::map<std::string, std::string> instead;  // by problem: another problem file, e.g. with soft conditions
  SourceLocation where;
};

// What the paper prints in one cell.
struct PaperValue {
  std::optional<double> value, deviation;
  std::string text;  // if it is not a number: "OOM", "DNC"
};

struct MetricEntry {
  Quantity quantity = Quantity::mean_square;
  std::string label, task_metric;
  std::int64_t step = 0;                                           // of a task metric; 0: the last
  bool largest = false;                                            // of a task metric: of all recorded steps
  double target = 0;                                               // of seconds_to_target
  bool ranked = true;                                              // whether smaller is better
  std::map<std::string, std::map<std::string, PaperValue>> paper;  // by problem, by variant
  SourceLocation where;
};

// A claim of the paper that the runs can check, or the reason why they cannot. One of six kinds:
//   below             the variant has smaller values than each of these
//   low, high         its values lie in this range
//   over, low, high   its values divided by those of `over` do
//   events, low, high what follows a change of basis lies in this range: the loss divided by that before, in the worst tenth
//                     of its changes; the share of them that doubles the loss; the off-diagonal ratio or the cosine of
//                     gradients ten steps later, in the median change
//   result            its runs end like this: "out of memory"
//   not_tested        why there is nothing to check
struct CheckEntry {
  std::string says;        // the claim in a sentence
  bool ours = false;       // not in the paper's words: a claim of its under conditions that we added
  std::string question;    // the page answers it above its summary
  std::size_t metric = 0;  // index into the experiment's metrics
  std::vector<std::string> problems;
  std::string variant, over, events, result, not_tested;
  std::vector<std::string> below;
  double low = 0, high = 0;
};

// A separate table on the page: some of the variants as rows, each compared with the first one or, in pairs,
// every second one with the row above it. Without such tables the page has one, with all variants as columns.
struct TableEntry {
  std::string title, about;
  std::vector<std::string> variants;
  bool pairs = false;
};

// A picture with one curve per variant: over steps or seconds, with one panel per problem; or over a setting that
// differs between the problems, with one point for each of them.
struct FigureEntry {
  std::string name, title, task_metric;
  std::vector<std::string> variants;  // empty: all
  Quantity quantity = Quantity::mean_square;
  bool over_seconds = false;
  bool around_changes = false;  // the training loss before and after changes of bases, over steps
  std::string over_setting;     // its path, such as network.width; empty: over steps or seconds
  std::size_t metric = 0;       // over a setting: index into the experiment's metrics
};

// Maps of one seed: reference, prediction and error, for the best variant and for one that is always shown.
struct MapsEntry {
  std::vector<std::string> problems;  // empty: none
  std::string variant;
  bool shows(const std::string& problem) const;
};

struct Budget {
  std::int64_t steps = 0, tuning_steps = 0;  // 0: no tuning, the variants' own settings
  std::int64_t tuning_seeds = 1;             // settings are as good as on the worst of them
  std::int64_t seeds = 1, grid_values = 0;   // 0: all values of an axis
  double time_limit = 0;                     // seconds of training per run; 0: no limit
  double cost = 0;  // measured: seconds for all runs in sequence, on one core or one GPU
  std::vector<std::string> problems, variants, axes;  // empty: all
  Settings settings;
  std::map<std::string, Settings> problem, variant;  // by name; only tuning overrides them
  bool runs(const ProblemEntry& problem, const VariantEntry& variant) const;
};
// In a list where none means all.
bool is_wanted(const std::vector<std::string>& list, const std::string& name);

// The number that a problem sets within a budget; none if it sets none.
std::optional<double> number_set(const ProblemEntry& problem, const Budget& budget, const std::string& path);

struct Experiment {
  std::string name, title, paper, claim, about, recipe = "paper";
  std::string conclusion;  // for the page, written by someone who has seen the numbers
  bool best = false;       // figures at the best held-out step instead of the last
  bool events = false;     // a table of the basis changes in its runs
  bool tau = false;        // a table of how large tau was, and how often
  Settings settings;
  std::vector<ProblemEntry> problems;
  std::vector<VariantEntry> variants;
  std::vector<MetricEntry> metrics;
  std::vector<CheckEntry> checks;
  std::vector<TableEntry> tables;
  std::vector<FigureEntry> figures;
  MapsEntry maps;
  std::map<std::string, Budget> budgets;

  bool is_study() const;      // names no place in a paper and has no values from one
  bool reads_events() const;  // for a table or for a check
  bool only_tasks() const;    // all its problems are matrix problems
  bool timed() const;         // has a metric that concurrent runs would spoil: one run at a time
  const Budget& budget(const std::string& name) const;  // throws Error naming the existing ones
  const ProblemEntry& problem(const std::string& name) const;
  const VariantEntry& variant(const std::string& name) const;
};

// What tuning chooses by: "held-out loss after 15 steps on a seed that is not reported".
std::string tuning_measure(const Experiment& experiment, const Budget& budget);

// Throws Error with the location of the mistake. `file` names the text in messages.
Experiment read_experiment(const TomlValue& root);
Experiment read_experiment_file(const std::filesystem::path& file);
// A file that an experiment may write into the output folder, named after it and what it shows.
struct OutputFile {
  std::string name;                     // "small-steps.svg"; pictures are written as PDF too
  std::string what;                     // "the figure 'steps'"
  const FigureEntry* figure = nullptr;  // null: of no figure
};
std::vector<OutputFile> output_files(const Experiment& experiment);
// Whether a TOML file is an experiment and not a problem.
bool is_experiment(const TomlValue& root);

// Experiments by name, in $LATHER_EXPERIMENTS, the source tree, or where they were installed.
std::filesystem::path find_experiment(const std::string& name_or_path);
std::vector<std::string> list_experiments();
// The experiments with these names; "all": every one that has a place in the paper, not our own studies. Throws
// Error for one that is given twice and for two that would write the same file.
std::vector<Experiment> read_experiments(const std::vector<std::string>& names);

}  // namespace lather::experiment
