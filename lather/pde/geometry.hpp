#pragma once
// Where the equations of a problem hold, if that is not a box: named shapes in some of the problem's
// coordinates.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lather/geometry/shape.hpp"
#include "lather/pde/points.hpp"

namespace lather::pde {

struct Geometry {
  std::vector<int> coordinates;                      // of the problem, used as x, y (and z) of the shapes
  std::vector<std::string> names;                    // of these coordinates
  std::map<std::string, geometry::ShapePtr> shapes;  // by name, including "domain"
  geometry::ShapePtr domain;

  geometry::Point place(const Points& points, std::size_t i) const {
    geometry::Point p{};
    for (std::size_t k = 0; k < coordinates.size(); ++k) p[k] = points.coordinates[coordinates[k]][i];
    return p;
  }
  // Points closer to a boundary than this are on it.
  double tolerance() const { return 1e-9 * domain->bounds().diagonal(); }
};

// Which points lie inside the domain, not on its boundary. Without shapes: all.
std::vector<char> inside_domain(const Geometry* geometry, const Points& points);
// The same including the boundary: what can be shown.
std::vector<char> in_closed_domain(const Geometry* geometry, const Points& points);
// Only the points inside.
Points only_inside(const Geometry* geometry, const Points& points);

}  // namespace lather::pde
