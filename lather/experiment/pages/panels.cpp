#include "lather/experiment/pages/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/svg.hpp"

namespace lather::experiment {

using report::Axis;
using report::Box;
using report::Svg;

namespace {

// Sizes for the width of a page: eleven-pixel numbers are six points when four panels fill 5.5 inches.
constexpr double kPanelWidth = 190, kPanelHeight = 150, kLeft = 52, kGap = 64, kTopOfPanels = 62, kRow = 232,
                 kLegendLine = 18;

struct Limits {
  double low = 1e308, high = -1e308;
  void take(double v) { low = std::min(low, v), high = std::max(high, v); }
  bool empty() const { return low > high; }
};

std::pair<Axis, Axis> axes_of(const Panel& panel, const PanelFigure& figure) {
  Limits x, y;
  for (const auto& curve : panel.curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      x.take(curve.x[i]);
      y.take(std::log10(curve.value[i]));
    }
  if (x.empty()) x.low = 0, x.high = 1, y.low = -1, y.high = 0;
  x.low = std::min(0.0, x.low);
  const double room = std::max(0.1, 0.05 * (y.high - y.low));
  return {{x.low, std::max(x.high, x.low + 1e-9), false, figure.x_name},
          {y.low - room, y.high + room, true, ""}};
}

void draw_panel(Svg& svg, const Box& box, const Panel& panel, const PanelFigure& figure) {
  const auto both = axes_of(panel, figure);
  const Axis &x = both.first, &y = both.second;
  svg.text(box.left, box.top - 8, panel.title, "font-weight=\"600\"");
  svg.axes(box, x, y, true);
  const auto share = [&](double at, double value) {
    return Svg::Share{x.share(at), std::clamp(y.share(std::log10(value)), 0.0, 1.0)};
  };
  for (const auto& curve : panel.curves) {
    if (curve.low.empty()) continue;
    std::vector<Svg::Share> outline;
    for (std::size_t i = 0; i < curve.x.size(); ++i) outline.push_back(share(curve.x[i], curve.high[i]));
    for (std::size_t i = curve.x.size(); i-- > 0;) outline.push_back(share(curve.x[i], curve.low[i]));
    svg.area(box, outline, report::categorical_colour(curve.method), 0.18);
  }
  for (const auto& curve : panel.curves) {
    std::vector<Svg::Share> points;
    for (std::size_t i = 0; i < curve.x.size(); ++i) points.push_back(share(curve.x[i], curve.value[i]));
    if (!points.empty()) svg.curve(box, points, report::categorical_colour(curve.method), 1.6);
  }
}

}  // namespace

std::string svg_panels(const PanelFigure& figure) {
  const int columns = std::clamp(static_cast<int>(figure.panels.size()), 1, figure.columns);
  const int rows = std::max(1, (static_cast<int>(figure.panels.size()) + columns - 1) / columns);
  const auto legend_width = [](const std::string& method) {
    return 34 + 6.6 * static_cast<double>(method.size());
  };
  const double width = std::max(kLeft + columns * (kPanelWidth + kGap), 560.0);
  struct Entry {
    double x, y;
  };
  std::vector<Entry> legend;  // in lines that are as wide as the panels
  double at = kLeft, line = 30;
  for (const auto& method : figure.methods) {
    if (at > kLeft && at + legend_width(method) > width) at = kLeft, line += kLegendLine;
    legend.push_back({at, line});
    at += legend_width(method);
  }
  const double top = kTopOfPanels + line - 30;
  Svg svg(width, top + rows * kRow, figure.title);
  svg.text(kLeft, 18, figure.y_name, "fill=\"#6a6f78\"");
  for (std::size_t m = 0; m < figure.methods.size(); ++m) {
    const auto [x, y] = legend[m];
    svg.line(x, y, x + 16, y, report::categorical_colour(static_cast<int>(m)), 2.5);
    svg.text(x + 20, y + 4, figure.methods[m]);
  }
  for (std::size_t p = 0; p < figure.panels.size(); ++p) {
    const double column = static_cast<double>(p % static_cast<std::size_t>(columns)),
                 row = static_cast<double>(p / static_cast<std::size_t>(columns));
    draw_panel(svg, {kLeft + column * (kPanelWidth + kGap), top + 8 + row * kRow, kPanelWidth, kPanelHeight},
               figure.panels[p], figure);
  }
  return std::move(svg).finish();
}

}  // namespace lather::experiment
