#pragma once
// One picture of a run or a comparison as a standalone SVG, for a README or a paper: error curves over
// training time, the best prediction, and where it is wrong. No scripts, raster images or fonts: it looks the
// same everywhere.

#include <string>
#include <vector>

#include "lather/report/run_data.hpp"

namespace lather::report {

// Which part of the picture, and what its curves are plotted over. Maps of one run: reference, prediction and
// error in a row.
enum class FigurePanel { all, curves, reference, prediction, error, maps };
enum class FigureClock { automatic, seconds, steps };  // automatic: seconds if every run has them
struct FigureChoice {
  FigurePanel panel = FigurePanel::all;
  FigureClock clock = FigureClock::automatic;
};

// Throws Error for a panel or a clock that the runs have no data for.
std::string svg_figure(const std::vector<RunData>& runs, const FigureChoice& choice = {});

}  // namespace lather::report
