#include "lather/experiment/pages/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/glyphs.hpp"
#include "lather/report/draw/svg.hpp"

namespace lather::experiment {

using report::Axis;
using report::Box;
using report::kTextSize;
using report::kTitleLine;
using report::Svg;

namespace {

// Sizes for the width of a page: eleven-pixel numbers are six points when four panels fill 5.5 inches.
constexpr double kPanelWidth = 190, kPanelHeight = 150, kLeft = 52, kGap = 64, kTopOfPanels = 62, kRow = 232,
                 kLegendLine = 18, kNumberWidth = 30, kMargin = 12;

struct Limits {
  double low = 1e308, high = -1e308;
  void take(double v) { low = std::min(low, v), high = std::max(high, v); }
  bool empty() const { return low > high; }
};

// Places of points far enough apart for their numbers.
std::vector<double> numbered_places(const Panel& panel, const Limits& x) {
  std::set<double> places;
  for (const auto& curve : panel.curves)
    for (const double at : curve.x) places.insert(std::log10(at));
  std::vector<double> numbered;
  for (const double at : places)
    if (numbered.empty() || (at - numbered.back()) * kPanelWidth > kNumberWidth * (x.high - x.low))
      numbered.push_back(at);
  return numbered;
}

std::pair<Axis, Axis> axes_of(const Panel& panel, const PanelFigure& figure) {
  Limits x, y;
  bool zeros = false;
  for (const auto& curve : panel.curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      x.take(figure.dotted ? std::log10(curve.x[i]) : curve.x[i]);
      if (curve.value[i] > 0) y.take(std::log10(curve.value[i]));
      zeros = zeros || curve.value[i] == 0 || (!curve.low.empty() && curve.low[i] == 0);
    }
  if (x.empty()) x.low = 0, x.high = 1;
  if (y.empty()) y.low = -1, y.high = 0;
  const double room = std::max(0.1, 0.05 * (y.high - y.low));
  Axis values{y.low - (zeros ? 3 : 1) * room, y.high + room, true, ""};
  values.zero_at_low = zeros;
  if (figure.dotted) {
    const double beside = std::max(0.02, 0.05 * (x.high - x.low));
    return {{x.low - beside, x.high + beside, true, figure.x_name, 0, numbered_places(panel, x)}, values};
  }
  x.low = std::min(0.0, x.low);
  return {{x.low, std::max(x.high, x.low + 1e-9), false, figure.x_name}, values};
}

void cross_out(Svg& svg, double x, double y, const std::string& colour) {
  constexpr double kArm = 5;
  svg.line(x - kArm, y - kArm, x + kArm, y + kArm, colour, 1.6);
  svg.line(x - kArm, y + kArm, x + kArm, y - kArm, colour, 1.6);
}

std::vector<std::string> title_lines(const Panel& panel) {
  return report::bold_lines(panel.title, kTextSize, kPanelWidth + kGap - kMargin);
}

void draw_panel(Svg& svg, const Box& box, const Panel& panel, const PanelFigure& figure) {
  const auto both = axes_of(panel, figure);
  const Axis &x = both.first, &y = both.second;
  svg.title(box.left, box.top - 8, title_lines(panel));
  svg.axes(box, x, y, true);
  const auto share = [&](double at, double value) {
    return Svg::Share{x.share(figure.dotted ? std::log10(at) : at),
                      std::clamp(y.share(std::log10(value)), 0.0, 1.0)};
  };
  const auto colour_of = [&](const PanelCurve& curve) {
    return report::categorical_colour(figure.methods[curve.method].colour);
  };
  for (const auto& curve : panel.curves) {
    if (curve.low.empty()) continue;
    std::vector<Svg::Share> outline;
    for (std::size_t i = 0; i < curve.x.size(); ++i) outline.push_back(share(curve.x[i], curve.high[i]));
    for (std::size_t i = curve.x.size(); i-- > 0;) outline.push_back(share(curve.x[i], curve.low[i]));
    svg.area(box, outline, colour_of(curve), 0.18);
  }
  for (const auto& curve : panel.curves) {
    std::vector<Svg::Share> points;
    for (std::size_t i = 0; i < curve.x.size(); ++i) points.push_back(share(curve.x[i], curve.value[i]));
    if (points.empty()) continue;
    const std::string colour = colour_of(curve);
    svg.curve(box, points, colour, 1.6);
    const auto left = [&](const Svg::Share& p) { return box.left + p.x * box.width; };
    const auto top = [&](const Svg::Share& p) { return box.top + (1 - p.y) * box.height; };
    if (figure.dotted)
      for (const auto& p : points) svg.dot(left(p), top(p), 2.4, colour);
    if (curve.cut) cross_out(svg, left(points.back()), top(points.back()), colour);
  }
}

double legend_width(const PanelMethod& method) {
  return 20 + report::room_for(method.label, kTextSize) + kMargin;
}

// That of the panels, or more if words need it; a legend gets lines of this width.
double width_of(const PanelFigure& figure, int columns) {
  constexpr double kUsualLine = 560;
  double width = kLeft + columns * (kPanelWidth + kGap), line = kLeft;
  width = std::max(width, kLeft + report::room_for(figure.y_name, kTextSize) + kMargin);
  for (const auto& method : figure.methods) {
    line += legend_width(method);
    width = std::max(width, kLeft + legend_width(method));
  }
  return std::max(width, std::min(line, kUsualLine));
}

}  // namespace

std::string svg_panels(const PanelFigure& figure) {
  const int columns = std::clamp(static_cast<int>(figure.panels.size()), 1, figure.columns);
  const int rows = std::max(1, (static_cast<int>(figure.panels.size()) + columns - 1) / columns);
  const double width = width_of(figure, columns);
  struct Entry {
    double x, y;
  };
  std::vector<Entry> legend;
  double at = kLeft, line = 30;
  for (const auto& method : figure.methods) {
    if (at > kLeft && at + legend_width(method) > width) at = kLeft, line += kLegendLine;
    legend.push_back({at, line});
    at += legend_width(method);
  }
  std::size_t lines = 1;  // of the longest title
  for (const auto& panel : figure.panels) lines = std::max(lines, title_lines(panel).size());
  const double more = kTitleLine * static_cast<double>(lines - 1), row_height = kRow + more;
  const double top = kTopOfPanels + line - 30;
  Svg svg(width, top + rows * row_height, figure.title);
  svg.text(kLeft, 18, figure.y_name, "fill=\"#6a6f78\"");
  for (std::size_t m = 0; m < figure.methods.size(); ++m) {
    const auto [x, y] = legend[m];
    svg.line(x, y, x + 16, y, report::categorical_colour(figure.methods[m].colour), 2.5);
    svg.text(x + 20, y + 4, figure.methods[m].label);
  }
  for (std::size_t p = 0; p < figure.panels.size(); ++p) {
    const double column = static_cast<double>(p % static_cast<std::size_t>(columns)),
                 row = static_cast<double>(p / static_cast<std::size_t>(columns));
    draw_panel(
        svg,
        {kLeft + column * (kPanelWidth + kGap), top + 8 + more + row * row_height, kPanelWidth, kPanelHeight},
        figure.panels[p], figure);
  }
  return std::move(svg).finish();
}

}  // namespace lather::experiment
