#pragma once
// Tables that compare variants, as requested by [[table]] in an experiment file.

#include <string>
#include <vector>

#include "lather/experiment/verdicts/ratio.hpp"
#include "lather/report/table.hpp"

namespace lather::experiment {

// A row for each metric and variant, a column for each problem; for ranked metrics the ratio and what it
// says.
report::Table comparison_table(const ExperimentResult& result, const TableEntry& entry);

// The number of comparisons of ranked metrics in all tables.
int comparisons_in(const Experiment& experiment);

// What all tables say about their first variant, one sentence for each table and ranked metric, and
// which variants are better in every ranked metric.
std::vector<std::string> findings(const ExperimentResult& result);

}  // namespace lather::experiment
