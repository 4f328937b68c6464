#pragma once
// The simple shapes. Every function throws Error, with an actionable message, for sizes that make no shape.

#include <cstdint>

#include "lather/geometry/shape.hpp"

namespace lather::geometry {

// An interval, a rectangle or a box with sides along the axes: low corner and high corner.
ShapePtr box(int dimension, const Point& low, const Point& high);
// The same, open at both ends of the first axis: only its walls are boundary.
ShapePtr channel(int dimension, const Point& low, const Point& high);
// A disk or a ball.
ShapePtr ball(int dimension, const Point& center, double radius);
// In the plane, with half-axes along x and y.
ShapePtr ellipse(const Point& center, double half_x, double half_y);
// A simple polygon in the plane, by its corners in either direction.
ShapePtr polygon(std::vector<Point> corners);
// All points on the side of `point` that `outward` points away from.
ShapePtr half_space(int dimension, const Point& point, const Point& outward);
// Around the z-axis through `center`.
ShapePtr torus(const Point& center, double ring_radius, double tube_radius);
ShapePtr cylinder(const Point& base_center, double radius, double height);                      // axis z
ShapePtr cone(const Point& base_center, double base_radius, double top_radius, double height);  // axis z

// A plane shape between z = low and z = high.
ShapePtr extrude(ShapePtr plane, double low, double high);
// A polygon in the (r, z) half plane, r >= 0, revolved around the z-axis.
ShapePtr revolve(const std::vector<Point>& corners);

// Boolean operations on shapes of the same dimension, at least one.
void require_same_dimension(const Shape& a, const Shape& b);
ShapePtr unite(const std::vector<ShapePtr>& members);
ShapePtr intersect(std::vector<ShapePtr> members);
ShapePtr subtract(ShapePtr from, std::vector<ShapePtr> parts);
ShapePtr complement(ShapePtr a);

ShapePtr translate(ShapePtr shape, const Point& by);
// In the plane counterclockwise about `about`; in space about an axis through it, by the right-hand rule.
ShapePtr rotate(ShapePtr shape, double angle, const Point& about = {}, const Point& axis = {0, 0, 1});
ShapePtr scale(ShapePtr shape, double factor, const Point& about = {});
// The union of `copies` copies, each shifted by `step` from the one before.
constexpr std::int64_t kMostCopies = 1000;
ShapePtr repeat(ShapePtr shape, const Point& step, std::int64_t copies);

}  // namespace lather::geometry
