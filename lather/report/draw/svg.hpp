#pragma once
// Parts of a drawing as SVG text: a frame with axes, lines, filled contour maps, colour bars.

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lather::report {

struct Box {
  double left, top, width, height;
};

// An axis of values; logarithmic ones hold powers of ten, stretched ones asinh(value / linear_within): logarithmic far
// from zero on both sides.
struct Axis {
  double low, high;
  bool logarithmic = false;
  std::string name = "";
  double linear_within = 0;           // 0: not stretched
  std::vector<double> numbered = {};  // places of its numbers; empty: round ones
  bool zero_at_low = false;           // logarithmic: its lower end stands for zero
  double share(double value) const { return (value - low) / (high - low); }
};

inline constexpr double kTextSize = 12, kTitleLine = 15;

class Svg {
 public:
  Svg(double width, double height, const std::string& title);

  void text(double x, double y, const std::string& words, const std::string& style = "",
            const char* anchor = "start");
  // Bold, the last line at this height, those before it kTitleLine above.
  void title(double x, double y, std::span<const std::string> lines);
  void line(double x1, double y1, double x2, double y2, const std::string& colour, double width = 1);
  void rectangle(const Box& box, const std::string& fill, const std::string& stroke = "none");
  void dot(double x, double y, double radius, const std::string& fill);
  // Points in shares of the box, from its lower left corner.
  struct Share {
    double x, y;
  };
  void curve(const Box& box, std::span<const Share> points, const std::string& colour, double width,
             bool dashed = false);

  void area(const Box& box, std::span<const Share> outline, const std::string& colour, double opacity);

  // Ticks and their numbers outside the box; grid lines inside it if wanted.
  void axes(const Box& box, const Axis& x, const Axis& y, bool grid);

  // Values on a grid, rows of `columns` from the bottom up, filled between the steps of a colour scale. `places`: where
  // the points of the grid lie; without them they fill the box evenly.
  using Colours = std::function<std::string(double)>;
  void contours(const Box& box, std::size_t columns, std::span<const double> values, const Axis& scale,
                const Colours& colours, std::span<const Share> places = {});
  void colour_bar(const Box& box, const Axis& scale, const Colours& colours);

  std::string finish() &&;

 private:
  std::string out_;
};

// Positions of the numbers on an axis, with their texts.
std::vector<std::pair<double, std::string>> ticks(const Axis& axis, int about);
// Two digits: 3.2·10⁻⁵, 0.44
std::string short_figure(double value);

}  // namespace lather::report
