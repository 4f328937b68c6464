#pragma once
// Variants of an experiment beside each other: by what factor is one better than another, and can the seeds tell?

#include <string>
#include <vector>

#include "lather/experiment/results.hpp"
#include "lather/report/table.hpp"

namespace lather::experiment {

// Values of one variant divided by those of another with the same problem and seed: their geometric mean, and the
// range of two standard errors around it.
struct Ratio {
  double factor = 1, low = 0, high = 0;
  int pairs = 0;            // in which both have a value
  int lost = 0, other = 0;  // in which only the other, or only this one, has one
  enum class Kind { better, level, worse, unknown };
  Kind kind() const;         // smaller values are better; unknown from fewer than two pairs
  std::string text() const;  // "0.82 (0.70 … 0.96)"
};
std::string_view name_of(Ratio::Kind kind);
Ratio ratio_between(const ExperimentResult& result, const MetricEntry& metric, const std::string& variant,
                    const std::string& other);

// A row for each metric and variant, a column for each problem, the ratio and what it says for ranked metrics.
report::Table comparison_table(const ExperimentResult& result, const TableEntry& entry);

// Of ranked metrics, in all tables.
int comparisons_in(const Experiment& experiment);

// What all tables say about their first variant, one sentence for each table and ranked metric, and
// which variants are better in every ranked metric.
std::vector<std::string> findings(const ExperimentResult& result);

}  // namespace lather::experiment
