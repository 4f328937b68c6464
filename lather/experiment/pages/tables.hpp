#pragma once
// Tables of the results of runs next to what the paper says.

#include <span>
#include <string>

#include "lather/experiment/results.hpp"
#include "lather/report/table.hpp"

namespace lather::experiment {

// A setting's value without quotation marks.
std::string short_value(const std::string& text);

// Three lines for each problem and metric: ours, the paper's, their ratio. A column per variant; if there are
// many, and no values from the paper, a row per variant.
report::Table values_table(const ExperimentResult& result);
// One line for each problem, metric and variant, for other programs.
report::Table long_table(const ExperimentResult& result);
// One line for each run and metric, so that others can judge by rules of their own.
report::Table runs_table(std::span<const ExperimentResult> results);
// One line for each problem and metric with a ranking: does it hold?
report::Table verdict_table(const ExperimentResult& result);
// One line for each claim: does it hold, and where?
report::Table checks_table(const ExperimentResult& result);
// What tuning has chosen, a column per problem, and where the best value is the first or last one tried;
// empty if nothing was searched.
report::Table settings_table(const ExperimentResult& result);

}  // namespace lather::experiment
