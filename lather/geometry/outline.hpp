#pragma once
// The boundary of a plane shape as lines, for drawing.

#include "lather/geometry/shape.hpp"

namespace lather::geometry {

// About `steps` points in all; none for shapes that are not two-dimensional.
std::vector<std::vector<Point>> outline(const Shape& shape, std::size_t steps = 600);

}  // namespace lather::geometry
