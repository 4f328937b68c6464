#pragma once
// Runs of one method that differ only in their seed, as curves of a panel.

#include <vector>

#include "lather/report/draw/panels.hpp"

namespace lather::report {

struct CurvePoint {
  double step = 0, seconds = 0, value = 0;
};

struct SeedCurve {
  std::vector<CurvePoint> points;  // by step
  bool diverged = false;
};

enum class PanelClock { steps, seconds };

// First one curve of those that did not diverge: geometric mean, smallest and largest at each step all of them have, at
// their mean time. It is empty if there are none. Then each that diverged: in a mean it would hide what the others did.
std::vector<PanelCurve> seeds_together(const std::vector<SeedCurve>& seeds, PanelClock clock,
                                       std::size_t method);
std::vector<PanelCurve> seeds_apart(const std::vector<SeedCurve>& seeds, PanelClock clock,
                                    std::size_t method);

}  // namespace lather::report
