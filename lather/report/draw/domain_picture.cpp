#include "lather/report/draw/domain_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/geometry/outline.hpp"
#include "lather/pde/geometry.hpp"
#include "lather/report/draw/colours.hpp"
#include "lather/report/draw/svg.hpp"

namespace lather::report {

namespace {

constexpr std::size_t kMostDots = 3000;  // per set; more are thinned out

void draw_boundary(Svg& svg, const Box& box, const Axis& x, const Axis& y, const pde::Problem& problem) {
  const std::string ink = "#30343b";
  if (!problem.geometry || problem.geometry->coordinates != std::vector<int>{0, 1}) {
    svg.rectangle(box, "none", ink);
    return;
  }
  for (const auto& line : geometry::outline(*problem.geometry->domain)) {
    std::vector<Svg::Share> shares;
    for (const auto& p : line) shares.push_back({x.share(p[0]), y.share(p[1])});
    svg.curve(box, shares, ink, 1.4);
  }
}

}  // namespace

std::string domain_picture(const pde::Problem& problem, const std::vector<pde::Points>& points) {
  if (problem.dimensions() < 2) throw Error("a domain of one coordinate has no picture");
  const auto& names = problem.symbols->coordinate_names();
  const Axis x{problem.domain[0].low, problem.domain[0].high, false, names[0]},
      y{problem.domain[1].low, problem.domain[1].high, false, names[1]};
  // Equal scales if both are spatial.
  const double wide = x.high - x.low, tall = y.high - y.low;
  const double ratio = names[1] == "t" ? 0.6 : std::clamp(tall / wide, 0.15, 2.0);
  const double width = ratio > 1 ? 480 / ratio : 480, height = width * ratio;
  const Box box{58, 48, width, height};
  Svg svg(width + 58 + 190, height + 100, problem.name + ": the domain and its points");
  svg.text(58, 28, problem.name, "font-weight=\"600\" font-size=\"13.5\"");
  svg.axes(box, x, y, false);
  double line = box.top + 10;
  for (std::size_t s = 0; s < points.size(); ++s) {
    const std::string colour = categorical_colour(static_cast<int>(s));
    const std::size_t n = points[s].count(), every = n / kMostDots + 1;
    const bool interior = problem.point_sets[s].kind == pde::PointSet::Kind::interior;
    for (std::size_t i = 0; i < n; i += every)
      svg.dot(box.left + x.share(points[s].coordinates[0][i]) * box.width,
              box.top + (1 - y.share(points[s].coordinates[1][i])) * box.height, interior ? 0.9 : 1.8,
              colour);
    svg.dot(box.left + box.width + 22, line - 4, 4, colour);
    svg.text(box.left + box.width + 32, line, fmt::format("{}, {} points", problem.point_sets[s].name, n));
    line += 20;
  }
  draw_boundary(svg, box, x, y, problem);
  return std::move(svg).finish();
}

}  // namespace lather::report
