#pragma once
// The results of a sweep: a table, and a page that ranks and plots.

#include "lather/batch/sweep/run_sweep.hpp"
#include "lather/report/table.hpp"

namespace lather::batch {

// One row per point, best first: rank, optimizer, values, score, seconds, state.
report::Table sweep_table(const Sweep& sweep, const SweepResult& result);

// index.html, table.md and table.csv.
void write_sweep(const Sweep& sweep, const SweepResult& result, const std::filesystem::path& folder);

}  // namespace lather::batch
