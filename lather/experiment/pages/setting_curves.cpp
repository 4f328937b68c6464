#include "lather/experiment/pages/setting_curves.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace lather::experiment {

namespace {

// The problems by their number, smallest first.
std::map<double, const ProblemEntry*> places_of(const ExperimentResult& result, const FigureEntry& figure) {
  std::map<double, const ProblemEntry*> places;
  for (const auto* problem : problems_of(result))
    places[number_set(*problem, *result.plan->budget, figure.over_setting).value()] = problem;
  return places;
}

// The curves of one method, and where it has none: places by the reason.
struct MethodCurves {
  std::vector<PanelCurve> pieces;
  std::map<std::string, std::vector<double>> missing;

  void add(double x, const Measured& measured) {
    if (gap_) pieces.emplace_back();
    gap_ = false;
    auto& curve = pieces.back();
    const auto [low, high] = std::minmax_element(measured.values.begin(), measured.values.end());
    curve.x.push_back(x);
    curve.value.push_back(measured.centre());
    curve.low.push_back(*low);
    curve.high.push_back(*high);
  }
  void miss(double x, const std::string& reason) {
    if (!gap_) pieces.back().cut = true;
    gap_ = true;
    missing[reason].push_back(x);
  }
  std::string reasons() const {
    std::vector<std::string> parts;
    for (const auto& [reason, at] : missing)
      parts.push_back(fmt::format("{} at {}", reason, fmt::join(at, ", ")));
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  bool gap_ = true;
};

bool is_drawable(const Measured& measured) {
  return measured.is_known() &&
         std::all_of(measured.values.begin(), measured.values.end(), [](double v) { return v >= 0; });
}

}  // namespace

void draw_over_setting(const ExperimentResult& result, const FigureEntry& figure,
                       const std::vector<const VariantEntry*>& variants, PanelFigure& drawing) {
  const MetricEntry& metric = result.plan->experiment->metrics[figure.metric];
  const auto places = places_of(result, figure);
  drawing.dotted = true;
  drawing.y_name = metric.label;
  drawing.x_name = figure.over_setting;
  std::replace(drawing.x_name.begin(), drawing.x_name.end(), '.', ' ');
  auto& panel = drawing.panels.emplace_back();
  for (std::size_t v = 0; v < variants.size(); ++v) {
    MethodCurves curves;
    for (const auto& [x, problem] : places) {
      const CellResult* cell = find_cell(result, problem->name, variants[v]->name);
      const Measured measured = cell ? measure(result, metric, *cell) : Measured{};
      if (is_drawable(measured))
        curves.add(x, measured);
      else
        curves.miss(x, measured.is_known() ? "negative" : cell ? measured.text() : "not run");
    }
    if (!curves.missing.empty()) drawing.methods[v].label += fmt::format(" ({})", curves.reasons());
    for (auto& piece : curves.pieces) {
      piece.method = v;
      if (piece.low == piece.high) piece.low.clear(), piece.high.clear();  // one seed
      panel.curves.push_back(std::move(piece));
    }
  }
}

}  // namespace lather::experiment
