#pragma once
// Tables of the results of runs, from their summary.json. A figure that a summary lacks is an empty cell.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/report/table.hpp"

namespace lather::report {

// Runs that differ only in the seed: one row of the comparison.
struct RunGroup {
  std::string name;
  std::vector<nlohmann::json> summaries;
};

// The step whose figures are shown: the one with the best held-out loss, or the last.
enum class ShownStep { best, last };

// Residual, errors of the worst field, steps, seconds: mean ± deviation.
Table comparison_table(const std::vector<RunGroup>& groups, ShownStep step);

// One row per run: how far, how good at the best step and at the last one, how long, why it ended.
Table runs_table(const std::vector<RunGroup>& runs);

// One column per run: the residual of all equations and its square, then one row per term (or per field and norm): root
// mean squares of the residuals at held-out points and relative errors.
Table figures_table(const std::vector<RunGroup>& runs, ShownStep step);

}  // namespace lather::report
