#pragma once
// Pictures of an experiment: curves of its runs, and heat maps of what tuning has tried.

#include <filesystem>
#include <string>
#include <vector>

#include "lather/experiment/pages/grid_map.hpp"
#include "lather/experiment/results.hpp"
#include "lather/report/draw/panels.hpp"

namespace lather::experiment {

using report::Panel;
using report::PanelCurve;
using report::PanelFigure;
using report::svg_panels;

PanelFigure make_figure(const ExperimentResult& result, const FigureEntry& figure);

// The held-out losses that settings were chosen by. The columns are values of the axis
// that most methods have; further axes become rows. No panels if nothing was searched.
GridMap make_grid_map(const ExperimentResult& result);

// NAME-FIGURE and, for each panel alone, NAME-FIGURE-PROBLEM; NAME-grid; maps; as SVG and PDF.
// Returns notes on what could not be drawn.
std::vector<std::string> write_figures(const ExperimentResult& result, const std::filesystem::path& folder);

}  // namespace lather::experiment
