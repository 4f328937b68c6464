#pragma once
// One picture of a run or a comparison as a standalone SVG, for a README or a paper: error curves over
// training time, the best prediction, and where it is wrong. Neither script nor raster images nor fonts: it
// looks the same everywhere.

#include <string>
#include <vector>

#include "lather/report/run_data.hpp"

namespace lather::report {

std::string svg_figure(const std::vector<RunData>& runs);

}  // namespace lather::report
