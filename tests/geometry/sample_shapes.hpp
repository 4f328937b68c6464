#pragma once
// One of each shape, with sizes that are not round numbers, and what closed forms say about it.

#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/geometry/primitives.hpp"

namespace lather::geometry {

struct SampleShape {
  std::string name;
  ShapePtr shape;
  std::optional<double> measure, boundary;  // closed forms
  bool exact_distance = true;
};

inline std::vector<SampleShape> sample_shapes() {
  const double pi = std::numbers::pi;
  const auto square = box(2, {0, 0}, {1, 1}), shifted = box(2, {0.5, 0.5}, {1.5, 1.5});
  const auto l_shape = polygon({{-1, -1}, {1, -1}, {1, 0}, {0, 0}, {0, 1}, {-1, 1}});
  const auto star = [] {
    std::vector<Point> corners;
    for (int i = 0; i < 10; ++i) {
      const double r = i % 2 == 0 ? 1.1 : 0.45, a = std::numbers::pi * i / 5 + 0.1;
      corners.push_back({r * std::cos(a), r * std::sin(a)});
    }
    return polygon(corners);
  }();
  // A lens of two unit disks at distance 1.
  const double lens = 2 * pi / 3 - std::sqrt(3.0) / 2;
  return {
      {"interval", box(1, {-0.3}, {1.9}), 2.2, 2},
      {"rectangle", box(2, {-1, 0.5}, {0.7, 1.1}), 1.7 * 0.6, 2 * (1.7 + 0.6)},
      {"box", box(3, {0, 0, 0}, {1, 2, 0.5}), 1.0, 2 * (2 + 0.5 + 1)},
      {"disk", ball(2, {0.2, -0.3}, 0.8), pi * 0.64, pi * 1.6},
      {"ball", ball(3, {0.2, -0.3, 1}, 0.8), 4 * pi / 3 * 0.512, 4 * pi * 0.64},
      {"ellipse", ellipse({0.1, 0.2}, 1.3, 0.4), pi * 0.52, {}},
      {"polygon", l_shape, 3, 8},
      {"star", star, {}, {}},
      {"triangle", polygon({{0, 0}, {0.3, 1.2}, {2, 0.1}}), {}, {}},  // clockwise
      {"torus", torus({0.3, 0.1, -0.2}, 1, 0.3), 2 * pi * pi * 0.09, 4 * pi * pi * 0.3},
      {"cylinder", cylinder({0.1, 0.2, -0.5}, 0.6, 1.4), pi * 0.36 * 1.4, 2 * pi * 0.36 + 2 * pi * 0.6 * 1.4},
      {"cone", cone({0.5, 0, 0}, 0.7, 0, 1.1), pi * 0.49 * 1.1 / 3,
       pi * 0.49 + pi * 0.7 * std::hypot(0.7, 1.1)},
      {"frustum", cone({0, 0, 0}, 0.7, 0.3, 1.1), {}, {}},
      {"extruded polygon", extrude(l_shape, -0.2, 0.6), 3 * 0.8, 6 + 8 * 0.8},
      {"revolved square", revolve({{1, -0.25}, {1.5, -0.25}, {1.5, 0.25}, {1, 0.25}}), 2 * pi * 1.25 * 0.25,
       2 * pi * 1.25 * 2},
      {"union", unite({square, shifted}), 1.75, 6, false},
      {"difference", subtract(square, {ball(2, {0.5, 0.5}, 0.25)}), 1 - pi / 16, 4 + pi / 2, false},
      {"intersection", intersect({ball(2, {0, 0}, 1), ball(2, {1, 0}, 1)}), lens, 4 * pi / 3, false},
      {"half disk", intersect({ball(2, {0, 0}, 1), half_space(2, {0, 0}, {0, -1})}), pi / 2, pi + 2, false},
      {"box without ball", subtract(box(3, {-1, -1, -1}, {1, 1, 1}), {ball(3, {1, 1, 1}, 0.5)}), 8 - pi / 48,
       24 - 3 * pi / 16 + pi / 8, false},
      {"neighbours", unite({box(2, {0, 0}, {1, 1}), box(2, {1, 0}, {2, 1})}), 2, 6, false},
      {"turned", rotate(box(2, {0, 0}, {1, 2}), 0.7, {0.3, 0.4}), 2, 6},
      {"scaled", scale(torus({0, 0, 0}, 1, 0.25), 1.5, {1, 1, 1}), 2 * pi * pi / 16 * 3.375, pi * pi * 2.25},
      {"tilted cylinder", rotate(cylinder({0, 0, 0}, 0.5, 1), 0.6, {1, 0, 0}, {1, 2, 3}), pi / 4, 1.5 * pi},
      {"repeated", repeat(ball(2, {0, 0}, 0.3), {1, 0.2}, 5), 5 * pi * 0.09, 5 * pi * 0.6, false},
  };
}

// Points in the bounding box of a shape, widened by a fifth on every side.
inline std::vector<Point> points_around(const Shape& shape, std::size_t count, std::uint64_t stream) {
  const Random random(11, stream);
  const Box box = shape.bounds();
  std::vector<Point> points(count);
  for (std::size_t i = 0; i < count; ++i)
    for (int k = 0; k < shape.dimension(); ++k) {
      const double low = box.low[k], high = box.high[k], more = 0.2 * (high - low);
      points[i][k] = random.uniform(3 * i + k, low - more, high + more);
    }
  return points;
}

// Places on the boundary, uniform by length or area: s in equal steps, v a low-discrepancy sequence.
template <class F>
std::size_t for_boundary(const Boundary& boundary, std::size_t count, const F& f) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double golden = 0.6180339887498949 * static_cast<double>(i + 1);
    const auto p =
        boundary.at((static_cast<double>(i) + 0.5) / static_cast<double>(count), golden - std::floor(golden));
    if (!p) continue;
    ++kept;
    f(*p);
  }
  return kept;
}

}  // namespace lather::geometry
