#pragma once
// Numbers of runs, and what they say about the paper's.

#include <optional>
#include <string>
#include <vector>

#include "lather/experiment/reproduce.hpp"
#include "lather/report/draw/seed_curves.hpp"

namespace lather::experiment {

using report::CurvePoint;

const CellResult* find_cell(const ExperimentResult& result, const std::string& problem,
                            const std::string& variant);
// Problems and variants that have a cell, in the order of the file.
std::vector<const ProblemEntry*> problems_of(const ExperimentResult& result);
std::vector<const VariantEntry*> variants_of(const ExperimentResult& result);

// Above this relative L² error, or with an unknown this far from its known value (relative), a problem is not
// solved, and a residual belongs to something else.
constexpr double kUnsolved = 0.5, kOtherUnknown = 0.1;

// One metric of one cell, over its seeds.
struct Measured {
  std::vector<double> values;  // finite ones
  int seeds = 0;               // wanted
  int pending = 0, out_of_memory = 0, failed = 0;
  int absent = 0;    // ended, but did not record it
  int diverged = 0;  // not a number at the end, or a held-out loss above ten times the starting one
  int without = 0;   // the target was not reached
  int unsolved = 0;  // residuals and losses of runs that have not solved their problem; values hold them
  int cut_off = 0;   // by the time limit, before the last step; values hold them
  double mean() const;
  double standard_error() const;  // 0 for one value
  double median() const;
  bool is_spread() const;  // the largest value is more than ten times the smallest: a mean says nothing
  double centre() const;   // the mean, or the median if values are spread
  bool is_known() const { return !values.empty(); }
  // Something was measured: a number, or that there is none.
  bool is_tested() const { return is_known() || out_of_memory > 0 || diverged > 0 || without > 0; }
  // The geometric mean if every seed has a value, infinity if one has none or has not solved its problem.
  std::optional<double> rank_value() const;
  // "1.23e-04 ± 2.1e-05", "median 1.20e-04 (3.0e-05 … 2.1e-01)", "3.00e-05 and 2.10e-01", "out of memory", "did not
  // reach it", …
  std::string text() const;
};

// The result of a finished run, at its best step or at its last one; not a number if it is not known.
double value_of(const RunRecord& run, Quantity quantity, bool best);

Measured measure(const ExperimentResult& result, const MetricEntry& metric, const CellResult& cell);
// By seed; not a number where a run has none, or where it is a residual of a run that has not solved its problem.
std::vector<double> values_by_seed(const ExperimentResult& result, const MetricEntry& metric,
                                   const CellResult& cell);

// Whether it ended with what is no number, or with a held-out loss above ten times the starting one.
bool has_diverged(const RunRecord& run);

// The quantity at every validation of a run, the training loss at every recorded step; empty if it is not recorded.
// Seconds that are not known are infinite.
std::vector<CurvePoint> curve_of(const std::filesystem::path& run, Quantity quantity,
                                 const std::string& task_metric = "");

std::string text_of(const PaperValue& value);

}  // namespace lather::experiment
