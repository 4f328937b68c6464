#include "lather/report/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "lather/core/text.hpp"
#include "lather/report/draw/contour.hpp"

namespace lather::report {

namespace {

constexpr const char* kSoft = "#6a6f78";
constexpr const char* kRule = "#d9d7d2";
constexpr const char* kGrid = "#efede9";
constexpr int kBands = 24;  // of a colour scale

// At most one decimal: a tenth of a pixel is not visible.
std::string to_a_tenth(double v) {
  const double rounded = std::round(v * 10) / 10;
  return fmt::format("{:g}", rounded == 0 ? 0.0 : rounded);
}

std::string superscript(int n) {
  constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = n < 0 ? "⁻" : "";
  for (const char c : std::to_string(std::abs(n))) out += kDigits[c - '0'];
  return out;
}

std::string power_of_ten(int n) { return n == 0 ? "1" : n == 1 ? "10" : "10" + superscript(n); }

std::string signed_number(double v) {
  std::string text = fmt::format("{:.6g}", v);
  return text[0] == '-' ? "−" + text.substr(1) : text;
}

// Closed polygons in relative coordinates, without points that a straight line would pass through anyway.
class PathText {
 public:
  void loop(const std::vector<std::pair<double, double>>& points) {
    std::vector<std::pair<double, double>> kept;
    for (const auto& p : points) {
      const auto rounded = std::pair(std::round(p.first * 10), std::round(p.second * 10));
      if (!kept.empty() && kept.back() == rounded) continue;
      while (kept.size() > 1 && straight(kept[kept.size() - 2], kept.back(), rounded)) kept.pop_back();
      kept.push_back(rounded);
    }
    if (kept.size() < 3) return;
    out_ += fmt::format("M{:g} {:g}", kept[0].first / 10, kept[0].second / 10);
    out_ += 'l';
    for (std::size_t i = 1; i < kept.size(); ++i) {
      if (i > 1) out_ += ' ';
      out_ += fmt::format("{:g} {:g}", (kept[i].first - kept[i - 1].first) / 10,
                          (kept[i].second - kept[i - 1].second) / 10);
    }
    out_ += 'z';
  }
  const std::string& str() const { return out_; }

 private:
  using Point = std::pair<double, double>;
  static bool straight(const Point& a, const Point& b, const Point& c) {
    const double ux = b.first - a.first, uy = b.second - a.second, vx = c.first - b.first,
                 vy = c.second - b.second;
    return std::abs(ux * vy - uy * vx) <= 1.5 * std::hypot(vx, vy) && ux * vx + uy * vy >= 0;
  }
  std::string out_;
};

}  // namespace

std::string short_figure(double value) {
  if (!std::isfinite(value) || value == 0) return signed_number(value);
  if (std::abs(value) >= 0.01 && std::abs(value) < 1000)
    return signed_number(std::strtod(fmt::format("{:.2g}", value).c_str(), nullptr));
  int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  double digits = std::round(value / std::pow(10, exponent) * 10) / 10;
  if (std::abs(digits) >= 10) digits /= 10, ++exponent;
  return fmt::format("{}·{}", signed_number(digits), power_of_ten(exponent));
}

namespace {

// Zero and powers of ten on a stretched axis; round numbers if it is zoomed in between two of them.
std::vector<std::pair<double, std::string>> stretched_ticks(const Axis& axis, int about) {
  const auto place = [&](double v) { return std::asinh(v / axis.linear_within); };
  const auto value = [&](double at) { return axis.linear_within * std::sinh(at); };
  const double farthest = std::max(std::abs(value(axis.low)), std::abs(value(axis.high)));
  std::vector<std::pair<double, std::string>> list;
  const int first = static_cast<int>(std::ceil(std::log10(axis.linear_within))),
            last = static_cast<int>(std::floor(std::log10(farthest) + 1e-9));
  const bool both = axis.low < 0 && axis.high > 0;
  const int every = std::max(1, ((both ? 2 : 1) * (last - first + 1) + about - 1) / about);
  for (int n = last - (last - first) / every * every; n <= last; n += every)
    for (const double sign : {-1.0, 1.0})
      if (const double at = sign * place(std::pow(10, n)); at >= axis.low - 1e-9 && at <= axis.high + 1e-9)
        list.emplace_back(at, (sign < 0 ? "−" : "") + power_of_ten(n));
  if (list.size() < 2) {
    list.clear();
    for (const auto& [v, words] : ticks({value(axis.low), value(axis.high)}, about))
      list.emplace_back(place(v), words);
    return list;
  }
  if (axis.low <= 0 && axis.high >= 0) list.emplace_back(0, "0");
  return list;
}

}  // namespace

std::vector<std::pair<double, std::string>> ticks(const Axis& axis, int about) {
  if (axis.linear_within > 0) return stretched_ticks(axis, about);
  if (axis.zero_at_low) {
    constexpr double kTooNear = 0.09;  // their numbers would touch
    Axis positive = axis;
    positive.zero_at_low = false;
    auto list = ticks(positive, about);
    std::erase_if(list, [&](const auto& tick) { return axis.share(tick.first) < kTooNear; });
    list.emplace(list.begin(), axis.low, "0");
    return list;
  }
  std::vector<std::pair<double, std::string>> list;
  for (const double at : axis.numbered)
    list.emplace_back(at, signed_number(axis.logarithmic ? std::pow(10, at) : at));
  if (!list.empty()) return list;
  if (axis.logarithmic && std::floor(axis.high + 1e-9) - std::ceil(axis.low - 1e-9) >= 1) {
    const int first = static_cast<int>(std::ceil(axis.low - 1e-9)),
              last = static_cast<int>(std::floor(axis.high + 1e-9));
    const int every = std::max(1, (last - first + about) / about);
    for (int n = first; n <= last; n += every) list.emplace_back(n, power_of_ten(n));
    return list;
  }
  if (axis.logarithmic)  // less than a decade or two: round numbers in between
    for (const auto& digits : {std::vector<double>{1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 7}}) {
      list.clear();
      for (double n = std::floor(axis.low); n <= axis.high; ++n)
        for (const double m : digits)
          if (const double at = n + std::log10(m); at >= axis.low && at <= axis.high)
            list.emplace_back(at, short_figure(m * std::pow(10, n)));
      if (list.size() > 1) return list;
    }
  list.clear();
  const double raw = (axis.high - axis.low) / about, power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double m : {5.0, 2.0, 1.0})
    if (m * power >= raw * 0.999) step = m * power;
  for (double k = std::ceil(axis.low / step - 1e-9); k * step <= axis.high + 1e-9 * step; ++k)
    list.emplace_back(
        k * step, axis.logarithmic ? short_figure(std::pow(10, k * step)) : signed_number(k * step + 0.0));
  return list;
}

Svg::Svg(double width, double height, const std::string& title)
    : out_(fmt::format(
          R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:g} {1:g}" width="{0:g}" height="{1:g}" role="img" )"
          R"(font-family="Inter,'Source Sans 3',system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif" )"
          R"(font-size="{3:g}" fill="#23262b">
<title>{2}</title>
<rect width="{0:g}" height="{1:g}" rx="8" fill="#fff"/>
)",
          width, height, markup(title), kTextSize)) {}

void Svg::text(double x, double y, const std::string& words, const std::string& style, const char* anchor) {
  out_ += fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", to_a_tenth(x), to_a_tenth(y),
                      std::string(anchor) == "start" ? "" : fmt::format(" text-anchor=\"{}\"", anchor),
                      style.empty() ? "" : " " + style, markup(words));
}

void Svg::title(double x, double y, std::span<const std::string> lines) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    text(x, y - kTitleLine * static_cast<double>(lines.size() - 1 - i), lines[i], "font-weight=\"600\"");
}

void Svg::line(double x1, double y1, double x2, double y2, const std::string& colour, double width) {
  out_ += fmt::format("<path d=\"M{} {}L{} {}\" stroke=\"{}\" stroke-width=\"{:g}\"/>\n", to_a_tenth(x1),
                      to_a_tenth(y1), to_a_tenth(x2), to_a_tenth(y2), colour, width);
}

void Svg::rectangle(const Box& b, const std::string& fill, const std::string& stroke) {
  out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"{}\"/>\n",
                      to_a_tenth(b.left), to_a_tenth(b.top), to_a_tenth(b.width), to_a_tenth(b.height), fill,
                      stroke);
}

void Svg::dot(double x, double y, double radius, const std::string& fill) {
  out_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{:g}\" fill=\"{}\"/>\n", to_a_tenth(x), to_a_tenth(y),
                      radius, fill);
}

static std::string path_through(const Box& b, std::span<const Svg::Share> points) {
  std::string path;
  for (const auto& p : points)
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", to_a_tenth(b.left + p.x * b.width),
                        to_a_tenth(b.top + (1 - p.y) * b.height));
  return path;
}

void Svg::area(const Box& b, std::span<const Share> outline, const std::string& colour, double opacity) {
  out_ += fmt::format("<path d=\"{}z\" fill=\"{}\" fill-opacity=\"{:g}\"/>\n", path_through(b, outline),
                      colour, opacity);
}

void Svg::curve(const Box& b, std::span<const Share> points, const std::string& colour, double width,
                bool dashed) {
  const std::string path = path_through(b, points);
  out_ += fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\" stroke-linejoin=\"round\" "
      "stroke-linecap=\"round\"{}/>\n",
      path, colour, width, dashed ? " stroke-dasharray=\"5 4\"" : "");
}

void Svg::axes(const Box& b, const Axis& x, const Axis& y, bool grid) {
  const std::string soft = fmt::format("fill=\"{}\" font-size=\"11\"", kSoft);
  const double bottom = b.top + b.height;
  for (const auto& [at, words] : ticks(y, 5)) {
    const double level = bottom - y.share(at) * b.height;
    if (grid) line(b.left, level, b.left + b.width, level, kGrid);
    text(b.left - 7, level + 3.8, words, soft, "end");
  }
  for (const auto& [at, words] : ticks(x, 4)) {
    const double place = b.left + x.share(at) * b.width;
    line(place, bottom, place, bottom + 4, kRule);
    text(place, bottom + 17, words, soft, "middle");
  }
  text(b.left + b.width / 2, bottom + 33, x.name, soft, "middle");
  if (!y.name.empty()) text(b.left - 30, b.top + b.height / 2 + 4, y.name, soft, "end");
  line(b.left, bottom, b.left + b.width, bottom, kRule);
}

namespace {

// Interpolates between the points of a grid, rows of `columns` from the bottom up.
Svg::Share place_between(std::span<const Svg::Share> places, std::size_t columns, const PlanePoint& p) {
  const std::size_t rows = places.size() / columns;
  const auto i = std::min(static_cast<std::size_t>(p.column), columns - 2),
             j = std::min(static_cast<std::size_t>(p.row), rows - 2);
  const double s = p.column - static_cast<double>(i), t = p.row - static_cast<double>(j);
  Svg::Share place{0, 0};
  const auto add = [&](std::size_t k, std::size_t l, double weight) {
    if (weight == 0) return;  // a point without a place may be next to this one
    place.x += weight * places[l * columns + k].x;
    place.y += weight * places[l * columns + k].y;
  };
  add(i, j, (1 - s) * (1 - t));
  add(i + 1, j, s * (1 - t));
  add(i, j + 1, (1 - s) * t);
  add(i + 1, j + 1, s * t);
  return place;
}

}  // namespace

void Svg::contours(const Box& b, std::size_t columns, std::span<const double> values, const Axis& scale,
                   const Colours& colours, std::span<const Share> places) {
  const double rows = static_cast<double>(values.size() / columns);
  const auto share = [&](const PlanePoint& p) {
    return places.empty() ? Share{p.column / static_cast<double>(columns - 1), p.row / (rows - 1)}
                          : place_between(places, columns, p);
  };
  // Where there are no values, such as outside a shape or a mapped domain, the lowest colour is not painted either.
  const bool gaps =
      !places.empty() || std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
  if (!gaps) rectangle(b, colours(0.5 / kBands));
  for (int band = gaps ? 0 : 1; band < kBands; ++band) {
    PathText path;
    const double level = band == 0 ? std::numeric_limits<double>::lowest()
                                   : scale.low + (scale.high - scale.low) * band / kBands;
    for (const auto& loop : region_above(level, columns, values)) {
      std::vector<std::pair<double, double>> points;
      for (const auto& p : loop) {
        const Share at = share(p);
        points.emplace_back(b.left + at.x * b.width, b.top + b.height - at.y * b.height);
      }
      path.loop(points);
    }
    if (!path.str().empty())
      out_ += fmt::format("<path d=\"{}\" fill=\"{}\" fill-rule=\"evenodd\"/>\n", path.str(),
                          colours((band + 0.5) / kBands));
  }
  rectangle(b, "none", kRule);
}

void Svg::colour_bar(const Box& b, const Axis& scale, const Colours& colours) {
  const double step = b.height / kBands;
  for (int band = 0; band < kBands; ++band)  // each reaches to the top, so that no seams show
    rectangle({b.left, b.top, b.width, b.height - band * step}, colours((band + 0.5) / kBands));
  for (const auto& [at, words] : ticks(scale, 5))
    text(b.left + b.width + 5, b.top + b.height * (1 - scale.share(at)) + 3.8, words,
         fmt::format("fill=\"{}\" font-size=\"11\"", kSoft));
}

std::string Svg::finish() && { return std::move(out_) + "</svg>\n"; }

}  // namespace lather::report
