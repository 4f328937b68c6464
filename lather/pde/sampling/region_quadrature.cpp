// Quadrature over regions: lines through the region are cut into the intervals that lie in it, each with a
// Gauss rule; the lines themselves lie at the nodes of Gauss rules between the places where the number of
// intervals changes. A sine substitution removes the root-like behaviour of chord lengths at both ends, so
// smooth integrands on regions with smooth boundaries are integrated to many digits.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "lather/linalg/gauss_rule.hpp"
#include "lather/pde/sampling/region.hpp"

namespace lather::pde {

namespace {

using Place = std::array<double, 3>;  // parameters of the carrier
// Which places lie in the region.
using Inside = std::function<std::vector<char>(const std::vector<Place>&)>;

class LineQuadrature {
 public:
  LineQuadrature(int dimensions, const Place& low, const Place& high, Inside inside, int nodes)
      : dimensions_(dimensions),
        low_(low),
        high_(high),
        inside_(std::move(inside)),
        rule_(linalg::gauss_rule(nodes)),
        scan_(dimensions > 2 ? 64 : 256) {}

  void run() { integrate(0, {}, 1); }
  std::vector<Place> places;
  std::vector<double> weights;

 private:
  using Intervals = std::vector<std::pair<double, double>>;

  void integrate(int axis, Place at, double weight) {
    if (axis >= static_cast<int>(at.size())) return;  // never happens; the compiler cannot know
    if (axis + 1 == dimensions_) {
      for (const auto& [a, b] : intervals(at)) add_line(at, a, b, weight);
      return;
    }
    const double pi = std::numbers::pi;
    std::vector<double> ends{low_[axis]};
    if (axis + 2 == dimensions_) add_breaks(axis, at, ends);
    ends.push_back(high_[axis]);
    for (std::size_t part = 0; part + 1 < ends.size(); ++part) {
      const double middle = 0.5 * (ends[part] + ends[part + 1]), half = 0.5 * (ends[part + 1] - ends[part]);
      for (std::size_t i = 0; i < rule_.nodes.size(); ++i) {
        at[axis] = middle + half * std::sin(0.5 * pi * rule_.nodes[i]);
        integrate(axis + 1, at,
                  weight * half * 0.5 * pi * std::cos(0.5 * pi * rule_.nodes[i]) * rule_.weights[i]);
      }
    }
  }

  void add_line(Place at, double a, double b, double weight) {
    for (std::size_t i = 0; i < rule_.nodes.size(); ++i) {
      at[dimensions_ - 1] = 0.5 * (a + b) + 0.5 * (b - a) * rule_.nodes[i];
      places.push_back(at);
      weights.push_back(weight * 0.5 * (b - a) * rule_.weights[i]);
    }
  }

  // The parts of the line along the last axis that lie in the region; their ends by bisection.
  Intervals intervals(Place at) const {
    const int last = dimensions_ - 1;
    const double step = (high_[last] - low_[last]) / scan_;
    std::vector<Place> scan(scan_, at);
    for (int i = 0; i < scan_; ++i) scan[i][last] = low_[last] + (i + 0.5) * step;
    const auto in = inside_(scan);
    Intervals result;
    for (int i = 0; i < scan_; ++i) {
      if (!in[i] || (i > 0 && in[i - 1])) continue;
      int end = i;
      while (end + 1 < scan_ && in[end + 1]) ++end;
      const double a =
          i == 0 ? first_edge(at, low_[last], scan[i][last]) : edge(at, scan[i - 1][last], scan[i][last]);
      const double b = end + 1 == scan_ ? first_edge(at, high_[last], scan[end][last])
                                        : edge(at, scan[end + 1][last], scan[end][last]);
      result.emplace_back(a, b);
    }
    return result;
  }

  // The end of the line itself if that is inside.
  double first_edge(Place at, double end, double inside) const {
    at[dimensions_ - 1] = end + 1e-12 * (inside - end);
    return inside_({at})[0] ? end : edge(at, end, inside);
  }

  double edge(Place at, double outside, double inside) const {
    for (int k = 0; k < 60 && std::abs(inside - outside) > 1e-15 * (std::abs(inside) + 1e-3); ++k) {
      at[dimensions_ - 1] = 0.5 * (outside + inside);
      (inside_({at})[0] ? inside : outside) = at[dimensions_ - 1];
    }
    return 0.5 * (outside + inside);
  }

  // Where the number of intervals changes from line to line.
  void add_breaks(int axis, Place at, std::vector<double>& ends) const {
    const auto count = [&](double x) {
      Place p = at;
      p[axis] = x;
      return intervals(p).size();
    };
    const double step = (high_[axis] - low_[axis]) / scan_;
    double before = low_[axis] + 0.5 * step;
    std::size_t lines = count(before);
    for (int i = 1; i < scan_; ++i) {
      const double x = low_[axis] + (i + 0.5) * step;
      const std::size_t now = count(x);
      if (now != lines) {
        double a = before, b = x;
        for (int k = 0; k < 40; ++k) (count(0.5 * (a + b)) == lines ? a : b) = 0.5 * (a + b);
        ends.push_back(0.5 * (a + b));
      }
      before = x;
      lines = now;
    }
  }

  int dimensions_;
  Place low_, high_;
  Inside inside_;
  linalg::GaussRule rule_;
  int scan_;  // places looked at along a line: anything thinner than their spacing may be missed
};

}  // namespace

WeightedPoints Region::quadrature(const Piece& piece, int nodes, std::span<const std::string> columns) const {
  const auto& list = geometry_->coordinates;
  const bool on_boundary = carrier_ == Carrier::boundary;
  std::vector<int> free;  // axes of the shape that are integrated over
  for (std::size_t k = 0; k < list.size() && !on_boundary; ++k)
    if (std::isnan(piece[list[k]])) free.push_back(static_cast<int>(k));
  Candidates all;
  std::vector<double> weights;
  // Turns places into candidates and marks those that are not points of the region.
  const auto make = [&](const std::vector<Place>& places, std::size_t patch) {
    std::pair<Candidates, std::vector<char>> made{{}, std::vector<char>(places.size(), 1)};
    auto& points = made.first.points;
    points.coordinates.assign(piece.size(), std::vector<double>(places.size()));
    for (std::size_t k = 0; k < piece.size(); ++k)
      if (!std::isnan(piece[k]))
        std::fill(points.coordinates[k].begin(), points.coordinates[k].end(), piece[k]);
    if (on_boundary) made.first.surface.resize(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!on_boundary) {
        for (std::size_t k = 0; k < free.size(); ++k) points.coordinates[list[free[k]]][i] = places[i][k];
        continue;
      }
      const auto p = boundary_->on_patch(patch, places[i][0], places[i][1]);
      made.second[i] = p.has_value();
      if (!p) continue;
      made.first.surface[i] = *p;
      for (std::size_t k = 0; k < list.size(); ++k) points.coordinates[list[k]][i] = p->position[k];
    }
    return made;
  };
  const auto inside = [&](std::size_t patch) {
    return [&, patch](const std::vector<Place>& places) {
      auto [drawn, there] = make(places, patch);
      const auto kept = are_kept(drawn, piece);
      for (std::size_t i = 0; i < there.size(); ++i) there[i] = there[i] && kept[i];
      return there;
    };
  };
  const std::size_t patches = on_boundary ? boundary_->patches() : 1;
  for (std::size_t patch = 0; patch < patches; ++patch) {
    Place low{}, high{1, 1, 1};
    double scale = 1;
    int dimensions = static_cast<int>(free.size());
    if (on_boundary) {
      dimensions = static_cast<int>(list.size()) - 1;
      scale = boundary_->patch_measure(patch);
    } else {
      for (std::size_t k = 0; k < free.size(); ++k) {
        low[k] = bounds_.low[free[k]];
        high[k] = bounds_.high[free[k]];
      }
    }
    constexpr double kMostPlaces = 1e6;
    if (std::pow(nodes, dimensions) > kMostPlaces)
      throw Error(fmt::format("{} nodes along each of {} directions are more than {:g}: lower `nodes`", nodes,
                              dimensions, kMostPlaces));
    std::vector<Place> places{Place{}};
    std::vector<double> measure{1.0};
    if (dimensions > 0) {
      LineQuadrature lines(dimensions, low, high, inside(patch), nodes);
      lines.run();
      places = std::move(lines.places);
      measure = std::move(lines.weights);
    } else if (!inside(patch)(places)[0]) {
      continue;
    }
    auto made = make(places, patch).first;
    append(all.points, made.points);
    all.surface.insert(all.surface.end(), made.surface.begin(), made.surface.end());
    for (const double m : measure) weights.push_back(scale * m);
  }
  if (weights.empty()) throw Error(fmt::format("'{}': no place to integrate over was found", text_));
  fill(all, columns);
  return {std::move(all.points), std::move(weights)};
}

}  // namespace lather::pde
