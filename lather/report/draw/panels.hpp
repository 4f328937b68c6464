#pragma once
// Several panels of curves with one legend, as a standalone SVG: logarithmic values over steps, seconds or a
// setting, one colour per method, the range over seeds as a band. A zero lies at the lower edge of its panel, which is then
// numbered 0. Seeds that diverged are thin and dashed up to where they leave the panel, and the legend counts them.

#include <string>
#include <vector>

#include "lather/report/draw/svg.hpp"

namespace lather::report {

struct PanelCurve {
  std::size_t method = 0;                // its place in the legend
  std::vector<double> x;                 // increasing
  std::vector<double> value, low, high;  // none is negative; low and high may be empty: no band
  bool cut = false;                      // its end is crossed out: what follows has no value
  bool diverged = false;                 // one seed, which sets no scale; without points if it has no number
};

struct Panel {
  std::string title;
  std::vector<PanelCurve> curves;
};

struct PanelMethod {
  std::string label;
  int colour = 0;
  bool dashed = false;
};

struct PanelFigure {
  std::string title, x_name, y_name;
  std::vector<PanelMethod> methods;
  std::vector<Panel> panels;
  int columns = 4;
};

std::string svg_panels(const PanelFigure& figure);

// Its parts, for other layouts. "Adam", "Muon (2 seeds diverged)": in the panels of this figure.
std::vector<std::string> legend_labels(const PanelFigure& figure);
struct PanelAxes {
  Axis x, y;
};
PanelAxes axes_of(const Panel& panel, const PanelFigure& figure);
// With its axes, without its title.
void draw_panel(Svg& svg, const Box& box, const Panel& panel, const PanelFigure& figure);

}  // namespace lather::report
