#pragma once
// Tables of variants beside each other, as [[table]] of an experiment file asks for them.

#include <string>
#include <vector>

#include "lather/experiment/verdicts/ratio.hpp"
#include "lather/report/table.hpp"

namespace lather::experiment {

// A row for each metric and variant, a column for each problem, the ratio and what it says for ranked metrics.
report::Table comparison_table(const ExperimentResult& result, const TableEntry& entry);

// Of ranked metrics, in all tables.
int comparisons_in(const Experiment& experiment);

// What all tables say about their first variant, one sentence for each table and ranked metric, and
// which variants are better in every ranked metric.
std::vector<std::string> findings(const ExperimentResult& result);

}  // namespace lather::experiment
