#pragma once
// Where the equations of a problem hold, if that is no box: shapes by name, in some of the problem's
// coordinates.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lather/geometry/shape.hpp"
#include "lather/pde/points.hpp"

namespace lather::pde {

struct Geometry {
  std::vector<int> coordinates;                      // of the problem, that are x, y (and z) of the shapes
  std::vector<std::string> names;                    // of these coordinates
  std::map<std::string, geometry::ShapePtr> shapes;  // by name, "domain" among them
  geometry::ShapePtr domain;

  geometry::Point place(const Points& points, std::size_t i) const {
    geometry::Point p{};
    for (std::size_t k = 0; k < coordinates.size(); ++k) p[k] = points.coordinates[coordinates[k]][i];
    return p;
  }
  // Closer than this to a boundary is on it.
  double tolerance() const { return 1e-9 * domain->bounds().diagonal(); }
};

// Which points lie inside the domain, not on its boundary. Without shapes: all.
std::vector<char> inside_domain(const Geometry* geometry, const Points& points);
// The same with the boundary: what can be shown.
std::vector<char> in_closed_domain(const Geometry* geometry, const Points& points);
// The points inside alone.
Points only_inside(const Geometry* geometry, const Points& points);

}  // namespace lather::pde
