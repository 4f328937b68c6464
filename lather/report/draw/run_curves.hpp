#pragma once
// The histories of runs as panels of curves: one panel per problem, one method in the legend for runs that differ only in
// their seed.

#include "lather/report/draw/figure.hpp"
#include "lather/report/draw/panels.hpp"

namespace lather::report {

struct RunCurves {
  PanelFigure figure;
  std::size_t best = 0;  // the run that ends lowest
};

RunCurves curves_of(const std::vector<RunData>& runs, const FigureChoice& choice);

}  // namespace lather::report
