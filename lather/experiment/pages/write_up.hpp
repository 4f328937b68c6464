#pragma once
// What runs have come to beside what the paper says: tables, pictures, pages.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lather/experiment/pages/document.hpp"
#include "lather/experiment/results.hpp"

namespace lather::experiment {

// Three lines for each problem and metric: ours (mean ± standard
// error), the paper's, their ratio. A column per variant.
report::Table values_table(const ExperimentResult& result);
// One line for each problem, metric and variant, for other programs.
report::Table long_table(const ExperimentResult& result);
// One line for each problem and metric with a ranking: does it hold?
report::Table verdict_table(const ExperimentResult& result);
// What tuning has chosen, and where the best value is the last that was tried; empty if nothing was searched.
report::Table settings_table(const ExperimentResult& result);

// EXPERIMENT.md, .csv, .tex, and its pictures as SVG and PDF. Returns notes on what could not be drawn.
std::vector<std::string> write_experiment(const ExperimentResult& result,
                                          const std::filesystem::path& folder);

// `command` made the results. The machine is that of the runs. One study has a page of its
// own kind.
Document write_page(std::span<const ExperimentResult> results, const std::string& command);

}  // namespace lather::experiment
