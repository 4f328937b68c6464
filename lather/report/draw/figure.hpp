#pragma once
// One picture of a run or a comparison as a standalone SVG, for a README or a paper: curves over training time or steps,
// the best prediction, and where it is wrong. Runs of several problems have a panel of curves for each, and no maps. No scripts, raster images or fonts: it looks the
// same everywhere.

#include <optional>
#include <string>
#include <vector>

#include "lather/report/quantity.hpp"
#include "lather/report/run_data.hpp"

namespace lather::report {

// Which part of the picture, and what its curves are plotted over. Maps of one run: reference, prediction and
// error in a row.
enum class FigurePanel { all, curves, reference, prediction, error, maps };
enum class FigureClock { automatic, seconds, steps };  // automatic: seconds if every run has them
// Runs that differ only in their seed: one curve with a band from the smallest to the largest value, or a curve each.
enum class FigureSeeds { together, apart };
struct FigureChoice {
  FigurePanel panel = FigurePanel::all;
  FigureClock clock = FigureClock::automatic;
  std::optional<Quantity> quantity =
      {};  // of the curves; default: the L² error, or the residual if a run has none
  FigureSeeds seeds = FigureSeeds::together;
};

// Throws Error for a panel, a clock or a quantity that the runs have no data for.
std::string svg_figure(const std::vector<RunData>& runs, const FigureChoice& choice = {});

}  // namespace lather::report
