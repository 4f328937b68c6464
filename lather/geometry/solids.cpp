// Solids made of plane shapes.

#include <fmt/format.h>

#include <numbers>

#include "lather/core/error.hpp"
#include "lather/geometry/polygon.hpp"
#include "lather/geometry/r_functions.hpp"

namespace lather::geometry {

using symbolic::Expr;

namespace {

class Extrusion : public Shape {
 public:
  Extrusion(ShapePtr plane, double low, double high)
      : Shape(3), plane_(std::move(plane)), low_(low), high_(high) {
    if (plane_->dimension() != 2) throw Error("only shapes of the plane can be extruded");
    if (!(low < high) || !std::isfinite(low) || !std::isfinite(high))
      throw Error(fmt::format("the heights of an extrusion must grow: {} and {} do not", low, high));
  }
  std::size_t parts() const override { return plane_->parts(); }
  double signed_distance(const Point& p) const override {
    const double across = plane_->signed_distance({p[0], p[1]}), along = std::min(p[2] - low_, high_ - p[2]);
    if (across >= 0 && along >= 0) return std::min(across, along);
    return -std::hypot(std::min(across, 0.0), std::min(along, 0.0));
  }
  Box bounds() const override { return extruded(plane_->bounds()); }
  Box distance_bounds() const override { return extruded(plane_->distance_bounds()); }
  std::vector<Patch> patches(const Box& clip) const override {
    std::vector<Patch> list;
    const double height = high_ - low_;
    for (const Patch& edge : plane_->patches(clip)) {
      Patch side{edge.measure * height,
                 [at = edge.at, low = low_, height](double u, double v) {
                   SurfacePoint point = at(u, 0);
                   point.position[2] = low + v * height;
                   point.arc = 0;
                   return point;
                 },
                 {}};
      if (edge.kept)
        side.kept = [kept = edge.kept](SurfacePoint p) {
          p.position[2] = 0;
          return kept(p);
        };
      list.push_back(std::move(side));
    }
    const Box box = plane_->bounds().meet(clip);
    if (!box.finite(2)) throw Error("the ends of an extrusion of an unbounded shape are unbounded");
    const Point size = box.high - box.low;
    for (const double z : {low_, high_})
      list.push_back(
          {size[0] * size[1],
           [box, size, z, outward = z == low_ ? -1.0 : 1.0](double u, double v) {
             return SurfacePoint{{box.low[0] + u * size[0], box.low[1] + v * size[1], z}, {0, 0, outward}, 0};
           },
           [plane = plane_](const SurfacePoint& p) {
             return plane->contains({p.position[0], p.position[1]});
           }});
    return list;
  }
  std::optional<double> exact_measure() const override {
    const auto area = plane_->exact_measure();
    return area ? std::optional(*area * (high_ - low_)) : std::nullopt;
  }
  std::optional<double> exact_boundary_measure() const override {
    const auto area = plane_->exact_measure(), edge = plane_->exact_boundary_measure();
    return area && edge ? std::optional(2 * *area + *edge * (high_ - low_)) : std::nullopt;
  }
  Expr smooth_distance(const Coordinates& x) const override {
    return r_and(plane_->smooth_distance(x), r_between(x[2], low_, high_));
  }

 private:
  Box extruded(Box box) const {
    box.low[2] = low_;
    box.high[2] = high_;
    return box;
  }
  ShapePtr plane_;
  double low_, high_;
};

// The corners, with their mirror images if the polygon touches the axis along an edge, which is then inside.
Polygon full_section(const std::vector<Point>& corners) {
  Polygon half(corners);  // counterclockwise
  const auto& c = half.corners();
  const std::size_t n = c.size();
  std::size_t axis_edges = 0, last = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (c[i][0] == 0 && c[(i + 1) % n][0] == 0) {
      ++axis_edges;
      last = i;
    }
  if (axis_edges == 0) return half;
  if (axis_edges > 1) throw Error("a polygon to be revolved may touch the axis along one edge only");
  std::vector<Point> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(c[(last + 1 + i) % n]);
  for (std::size_t i = n - 2; i >= 1; --i) all.push_back({-all[i][0], all[i][1]});
  return Polygon(all);
}

class Revolution : public Shape {
 public:
  explicit Revolution(const std::vector<Point>& corners)
      : Shape(3), half_(corners), section_(checked(corners)) {}

  double signed_distance(const Point& p) const override {
    return section_.signed_distance({std::hypot(p[0], p[1]), p[2]});
  }
  Box bounds() const override {
    const Box flat = half_.bounds();
    const double r = flat.high[0];
    return {{-r, -r, flat.low[1]}, {r, r, flat.high[1]}};
  }
  std::vector<Patch> patches(const Box&) const override {
    std::vector<Patch> list;
    for (std::size_t i = 0; i < half_.corners().size(); ++i) {
      const Point a = half_.corners()[i], e = half_.edge(i), n = half_.outward(i);
      if (a[0] == 0 && e[0] == 0) continue;  // on the axis
      const auto at = [a, e, n](double u, double v) {
        // The area grows with the square of the radius.
        const double r0 = a[0], r1 = a[0] + e[0], r = std::sqrt(r0 * r0 + u * (r1 * r1 - r0 * r0));
        const double t = e[0] == 0 ? u : (r - r0) / e[0], angle = 2 * std::numbers::pi * v;
        const double c = std::cos(angle), s = std::sin(angle), radius = r0 + t * e[0];
        return SurfacePoint{{radius * c, radius * s, a[1] + t * e[1]}, {n[0] * c, n[0] * s, n[1]}, 0};
      };
      list.push_back({std::numbers::pi * (2 * a[0] + e[0]) * length(e), at, {}});
    }
    return list;
  }
  std::optional<double> exact_measure() const override {  // Pappus
    double moment = 0;
    for (std::size_t i = 0; i < half_.corners().size(); ++i) {
      const Point a = half_.corners()[i], b = a + half_.edge(i);
      moment += (a[0] + b[0]) * (a[0] * b[1] - b[0] * a[1]);
    }
    return 2 * std::numbers::pi * moment / 6;
  }
  std::optional<double> exact_boundary_measure() const override {
    double sum = 0;
    for (const Patch& patch : patches({})) sum += patch.measure;
    return sum;
  }
  Expr smooth_distance(const Coordinates& x) const override {
    const Expr r = sqrt(symbolic::pow(x[0], 2) + symbolic::pow(x[1], 2));
    return section_.smooth_distance({r, x[2], {}});
  }

 private:
  static Polygon checked(const std::vector<Point>& corners) {
    for (const Point& c : corners)
      if (c[0] < 0)
        throw Error(fmt::format("a polygon to be revolved lies at r >= 0; a corner has r = {}", c[0]));
    return full_section(corners);
  }
  Polygon half_, section_;
};

}  // namespace

ShapePtr extrude(ShapePtr plane, double low, double high) {
  return std::make_shared<Extrusion>(std::move(plane), low, high);
}
ShapePtr revolve(const std::vector<Point>& corners) { return std::make_shared<Revolution>(corners); }

ShapePtr cylinder(const Point& base_center, double radius, double height) {
  if (!(height > 0)) throw Error(fmt::format("the height must be a positive number, not {}", height));
  return extrude(ball(2, {base_center[0], base_center[1]}, radius), base_center[2], base_center[2] + height);
}

ShapePtr cone(const Point& base_center, double base_radius, double top_radius, double height) {
  if (!(height > 0)) throw Error(fmt::format("the height must be a positive number, not {}", height));
  if (!(base_radius >= 0) || !(top_radius >= 0) || base_radius + top_radius == 0)
    throw Error(fmt::format("the radii of a cone must not be negative nor both zero: {} and {}", base_radius,
                            top_radius));
  std::vector<Point> corners{{0, 0}};
  if (base_radius > 0) corners.push_back({base_radius, 0});
  if (top_radius > 0) corners.push_back({top_radius, height});
  corners.push_back({0, height});
  return translate(revolve(corners), base_center);
}

}  // namespace lather::geometry
