#pragma once
// A metric over a setting that differs between the problems, such as the width of the network.

#include "lather/experiment/results.hpp"
#include "lather/report/draw/panels.hpp"

namespace lather::experiment {

using report::PanelCurve;
using report::PanelFigure;

// Fills a figure that has its methods, `variants` in this order: values as in the tables, and the range over seeds. Where
// there is no value, the curve is cut and the legend says why: "SS-BFGS (out of memory at 512, 1024)".
void draw_over_setting(const ExperimentResult& result, const FigureEntry& figure,
                       const std::vector<const VariantEntry*>& variants, PanelFigure& drawing);

}  // namespace lather::experiment
