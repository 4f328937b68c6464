#pragma once
// What runs have come to beside what the paper says: tables, pictures, pages.

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

// `command` made the results. The machine is that of the runs. One study has a page of its
// own kind.
Document write_page(std::span<const ExperimentResult> results, const std::string& command);

}  // namespace lather::experiment
