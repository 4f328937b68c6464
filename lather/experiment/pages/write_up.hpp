#pragma once
// The results of runs next to what the paper says: tables, pictures, pages.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lather/experiment/pages/document.hpp"
#include "lather/experiment/pages/tables.hpp"
#include "lather/experiment/results.hpp"

namespace lather::experiment {

// EXPERIMENT.md, .csv, .tex, and its pictures as SVG and PDF. Returns notes on what could not be drawn.
std::vector<std::string> write_experiment(const ExperimentResult& result,
                                          const std::filesystem::path& folder);

// `command` produced the results. The machine given is that of the runs. A single study has its own kind of
// page.
Document write_page(std::span<const ExperimentResult> results, const std::string& command);

}  // namespace lather::experiment
