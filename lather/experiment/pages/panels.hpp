#pragma once
// Several panels of curves with one legend, as a standalone SVG: logarithmic values over steps or seconds,
// one colour per method, the range over seeds as a band around the geometric mean.

#include <string>
#include <vector>

namespace lather::experiment {

struct PanelCurve {
  int method = 0;                        // its colour and its place in the legend
  std::vector<double> x;                 // increasing
  std::vector<double> value, low, high;  // positive; low and high may be empty: no band
};

struct Panel {
  std::string title;
  std::vector<PanelCurve> curves;
};

struct PanelFigure {
  std::string title, x_name, y_name;
  std::vector<std::string> methods;
  std::vector<Panel> panels;
  int columns = 4;
};

std::string svg_panels(const PanelFigure& figure);

}  // namespace lather::experiment
