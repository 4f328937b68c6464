#include "lather/report/draw/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/glyphs.hpp"

namespace lather::report {

namespace {

// Sizes for the width of a page: eleven-pixel numbers are six points when four panels fill 5.5 inches.
constexpr double kPanelWidth = 190, kPanelHeight = 150, kFirstPanel = 52, kPanelGap = 64, kTopOfPanels = 62,
                 kRow = 232, kLegendLine = 18, kRightMargin = 12;

struct Limits {
  double low = 1e308, high = -1e308;
  void take(double v) { low = std::min(low, v), high = std::max(high, v); }
  bool empty() const { return low > high; }
};

Limits exponents_of(const Panel& panel, bool diverged) {
  Limits y;
  for (const auto& curve : panel.curves)
    if (curve.diverged == diverged)
      for (const auto* values : {&curve.value, &curve.low, &curve.high})
        for (const double value : *values)
          if (value > 0) y.take(std::log10(value));
  return y;
}

// Those of seeds that diverged, which may reach 10^300, do not count unless there is nothing else.
Limits scale_of_values(const Panel& panel) {
  constexpr double kDecadesOfDivergence = 3;
  Limits y = exponents_of(panel, false);
  if (!y.empty()) return y;
  y = exponents_of(panel, true);
  y.high = std::min(y.high, y.low + kDecadesOfDivergence);
  return y;
}

bool has_zeros(const PanelCurve& curve) {
  const auto has = [](const std::vector<double>& values) {
    return std::find(values.begin(), values.end(), 0) != values.end();
  };
  return !curve.diverged && (has(curve.value) || has(curve.low));
}

void cross_out(Svg& svg, double x, double y, const std::string& colour) {
  constexpr double kArm = 5;
  svg.line(x - kArm, y - kArm, x + kArm, y + kArm, colour, 1.6);
  svg.line(x - kArm, y + kArm, x + kArm, y - kArm, colour, 1.6);
}

// What is left of a curve that diverged: it ends where it leaves the panel for good, at the upper edge.
void end_at_the_edge(std::vector<Svg::Share>& points) {
  const auto inside =
      std::find_if(points.rbegin(), points.rend(), [](const Svg::Share& p) { return p.y < 1; });
  const auto beyond = static_cast<std::size_t>(inside - points.rbegin());
  if (beyond > 1) points.resize(points.size() - beyond + 1);
  if (points.empty()) points.push_back({0, 1});  // no number from the start
}

std::vector<std::string> title_lines(const Panel& panel) {
  return bold_lines(panel.title, kTextSize, kPanelWidth + kPanelGap - kRightMargin);
}

double legend_width(const std::string& label) { return 20 + room_for(label, kTextSize) + kRightMargin; }

// That of the panels, or more if words need it; a legend gets lines of this width.
double figure_width(const PanelFigure& figure, const std::vector<std::string>& labels, int columns) {
  constexpr double kUsualLine = 560;
  double width = kFirstPanel + columns * (kPanelWidth + kPanelGap), line = kFirstPanel;
  width = std::max(width, kFirstPanel + room_for(figure.y_name, kTextSize) + kRightMargin);
  for (const auto& label : labels) {
    line += legend_width(label);
    width = std::max(width, kFirstPanel + legend_width(label));
  }
  return std::max(width, std::min(line, kUsualLine));
}

}  // namespace

PanelAxes axes_of(const Panel& panel, const PanelFigure& figure) {
  Limits x, y = scale_of_values(panel);
  for (const auto& curve : panel.curves)
    for (const double at : curve.x) x.take(at);
  const bool zeros = std::any_of(panel.curves.begin(), panel.curves.end(), has_zeros);
  if (x.empty()) x.low = 0, x.high = 1;
  if (y.empty()) y.low = -1, y.high = 0;
  const double room = std::max(0.1, 0.05 * (y.high - y.low));
  Axis values{y.low - (zeros ? 3 : 1) * room, y.high + room, true, ""};
  values.zero_at_low = zeros;
  x.low = std::min(0.0, x.low);
  return {{x.low, std::max(x.high, x.low + 1e-9), false, figure.x_name}, values};
}

void draw_panel(Svg& svg, const Box& box, const Panel& panel, const PanelFigure& figure) {
  const auto axes = axes_of(panel, figure);
  const Axis &x = axes.x, &y = axes.y;
  svg.axes(box, x, y, true);
  const auto share = [&](double at, double value) {
    return Svg::Share{x.share(at), std::clamp(y.share(std::log10(value)), 0.0, 1.0)};
  };
  const auto colour_of = [&](const PanelCurve& curve) {
    return categorical_colour(figure.methods[curve.method].colour);
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
    if (curve.diverged) end_at_the_edge(points);
    if (points.empty()) continue;
    const std::string colour = colour_of(curve);
    const bool dashed = curve.diverged || figure.methods[curve.method].dashed;
    svg.curve(box, points, colour, curve.diverged ? 1 : 1.6, dashed);
    const auto left = [&](const Svg::Share& p) { return box.left + p.x * box.width; };
    const auto top = [&](const Svg::Share& p) { return box.top + (1 - p.y) * box.height; };
    if (curve.cut) cross_out(svg, left(points.back()), top(points.back()), colour);
  }
}

std::vector<std::string> legend_labels(const PanelFigure& figure) {
  std::vector<std::string> labels;
  for (std::size_t m = 0; m < figure.methods.size(); ++m) {
    std::ptrdiff_t seeds = 0;
    for (const auto& panel : figure.panels)
      seeds += std::count_if(panel.curves.begin(), panel.curves.end(),
                             [&](const PanelCurve& curve) { return curve.method == m && curve.diverged; });
    const std::string& label = figure.methods[m].label;
    labels.push_back(
        seeds == 0 ? label : fmt::format("{} ({} seed{} diverged)", label, seeds, seeds == 1 ? "" : "s"));
  }
  return labels;
}

std::string svg_panels(const PanelFigure& figure) {
  const int columns = std::clamp(static_cast<int>(figure.panels.size()), 1, figure.columns);
  const int rows = std::max(1, (static_cast<int>(figure.panels.size()) + columns - 1) / columns);
  const auto labels = legend_labels(figure);
  const double width = figure_width(figure, labels, columns);
  struct Entry {
    double x, y;
  };
  std::vector<Entry> legend;
  double at = kFirstPanel, line = 30;
  for (const auto& label : labels) {
    if (at > kFirstPanel && at + legend_width(label) > width) at = kFirstPanel, line += kLegendLine;
    legend.push_back({at, line});
    at += legend_width(label);
  }
  std::size_t lines = 1;  // of the longest title
  for (const auto& panel : figure.panels) lines = std::max(lines, title_lines(panel).size());
  const double more = kTitleLine * static_cast<double>(lines - 1), row_height = kRow + more;
  const double top = kTopOfPanels + line - 30;
  Svg svg(width, top + rows * row_height, figure.title);
  svg.text(kFirstPanel, 18, figure.y_name, "fill=\"#6a6f78\"");
  for (std::size_t m = 0; m < figure.methods.size(); ++m) {
    const auto [x, y] = legend[m];
    const std::string colour = categorical_colour(figure.methods[m].colour);
    if (figure.methods[m].dashed)
      svg.curve({x, y, 16, 0}, std::vector<Svg::Share>{{0, 0}, {1, 0}}, colour, 1.6, true);
    else
      svg.line(x, y, x + 16, y, colour, 2.5);
    svg.text(x + 20, y + 4, labels[m]);
  }
  for (std::size_t p = 0; p < figure.panels.size(); ++p) {
    const double column = static_cast<double>(p % static_cast<std::size_t>(columns)),
                 row = static_cast<double>(p / static_cast<std::size_t>(columns));
    const Box box{kFirstPanel + column * (kPanelWidth + kPanelGap), top + 8 + more + row * row_height,
                  kPanelWidth, kPanelHeight};
    svg.title(box.left, box.top - 8, title_lines(figure.panels[p]));
    draw_panel(svg, box, figure.panels[p], figure);
  }
  return std::move(svg).finish();
}

}  // namespace lather::report
