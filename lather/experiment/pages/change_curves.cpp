#include "lather/experiment/pages/change_curves.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "lather/experiment/verdicts/events.hpp"

namespace lather::experiment {

namespace {

constexpr int kBefore = 5, kAfter = 20;  // steps

// Losses divided by that at the change, by how many steps later they are.
using Ratios = std::map<int, std::vector<double>>;

// Several layers may change their bases in one step, which counts once.
void add_changes(const RunRecord& run, Ratios& ratios) {
  std::map<double, double> losses;
  for (const auto& point : curve_of(run.folder, Quantity::training_loss)) losses[point.step] = point.value;
  for (const double step : steps_of_changes(run)) {
    const auto at = losses.find(step);
    if (at == losses.end() || !(at->second > 0)) continue;
    for (int k = -kBefore; k <= kAfter; ++k)
      if (const auto then = losses.find(step + k); then != losses.end() && std::isfinite(then->second))
        ratios[k].push_back(then->second / at->second);
  }
}

PanelCurve curve_through(const Ratios& ratios, std::size_t method) {
  PanelCurve curve{method, {}, {}, {}, {}};
  for (const auto& [k, values] : ratios) {
    curve.x.push_back(k);
    curve.value.push_back(quantile(values, kWorstTenth));
  }
  return curve;
}

}  // namespace

void draw_around_changes(const ExperimentResult& result, const std::vector<const VariantEntry*>& variants,
                         PanelFigure& drawing) {
  drawing.x_name = "steps after a change of basis";
  drawing.y_name = "loss at the training points, 1 at the change; nine tenths of all changes lie below";
  std::vector<std::size_t> changes(variants.size());
  for (const auto* problem : problems_of(result)) {
    auto& panel = drawing.panels.emplace_back(Panel{result.plan->problem_label(*problem), {}});
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const CellResult* cell = find_cell(result, problem->name, variants[v]->name);
      if (!cell) continue;
      Ratios ratios;
      for (const auto& run : cell->seeds) add_changes(run, ratios);
      if (ratios.contains(0)) changes[v] += ratios[0].size();
      panel.curves.push_back(curve_through(ratios, v));
    }
  }
  for (std::size_t v = 0; v < variants.size(); ++v)
    drawing.methods[v].label += fmt::format(" ({} changes)", changes[v]);
}

}  // namespace lather::experiment
