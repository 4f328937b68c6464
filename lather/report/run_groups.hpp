#pragma once
// What runs have in common: their problems, and runs that differ only in their seed.

#include <string>
#include <vector>

#include "lather/report/run_data.hpp"

namespace lather::report {

// "unknown problem" if neither the summary nor the configuration says.
std::string problem_name(const RunData& run);
// Each one once, in the order of the runs.
std::vector<std::string> problem_names(const std::vector<RunData>& runs);

// For every run the name of its method, shared by runs of a problem that differ only in their seed: that of the optimizer
// or, if it occurs with several settings for the problem, that of a run without its seed.
std::vector<std::string> method_names(const std::vector<RunData>& runs);
// For every run the name of its group. If there are several problems, it says which one: "adam on burgers".
std::vector<std::string> group_names(const std::vector<RunData>& runs);

}  // namespace lather::report
