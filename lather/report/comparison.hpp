#pragma once
// Tables of what runs have come to, from their summary.json. A figure that a summary lacks is an empty cell.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/report/table.hpp"

namespace lather::report {

// Runs that differ in the seed only: one row of the comparison.
struct RunGroup {
  std::string name;
  std::vector<nlohmann::json> summaries;
};

// Residual, errors of the worst field, steps, seconds: mean ± deviation at the last step.
Table comparison_table(const std::vector<RunGroup>& groups);

// One row per run: how far, how good at the last step and at the best one, how long, why it ended.
Table runs_table(const std::vector<RunGroup>& runs);

// One row per term (or per field and norm), one column per run: root mean squares of the residuals at
// held-out points and relative errors, at the last step.
Table figures_table(const std::vector<RunGroup>& runs);

}  // namespace lather::report
