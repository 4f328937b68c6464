#pragma once
// The loss around changes of bases, for figures with `over = "changes"`: every change of every seed is laid over the
// others, with the loss at the change as 1. Nine tenths of them lie below the curve: what is typical hardly differs between
// methods, what is worst does.

#include <vector>

#include "lather/experiment/results.hpp"
#include "lather/report/draw/panels.hpp"

namespace lather::experiment {

using report::Panel;
using report::PanelCurve;
using report::PanelFigure;

// A panel per problem. Needs runs that record every step and keep their log of changes.
void draw_around_changes(const ExperimentResult& result, const std::vector<const VariantEntry*>& variants,
                         PanelFigure& drawing);

}  // namespace lather::experiment
