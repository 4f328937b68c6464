#pragma once
// Shapes in one, two or three dimensions: which points lie inside, how far the boundary is, and the boundary
// itself as patches that can be sampled by length or area.
//
// The signed distance is positive inside, zero on the boundary and negative outside. It is exact for
// primitives, for extrusions, revolutions, meshes and all transforms; inside an intersection or a difference
// of such shapes; and outside a union. Elsewhere its sign is right and its size a lower bound.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lather/geometry/point.hpp"
#include "lather/symbolic/expression.hpp"

namespace lather::geometry {

struct SurfacePoint {
  Point position{}, normal{};  // outward, of length 1
  double arc = 0;              // length along the boundary of the primitive in 2D, counterclockwise; else 0
};

// A piece of boundary, parametrized by the unit interval (2D) or square (3D) so that equal parts of it are
// equal parts of the piece: at(u, v) of uniform u, v is uniform by length or area.
struct Patch {
  double measure = 0;
  std::function<SurfacePoint(double u, double v)> at;
  // What is left of the piece after Boolean operations; empty: all of it.
  std::function<bool(const SurfacePoint&)> kept;
};

// A number that is known up to `error`: 0 if it follows from a formula.
struct Measure {
  double value = 0, error = 0;
};

using Coordinates = std::array<symbolic::Expr, 3>;

class Shape {
 public:
  explicit Shape(int dimension) : dimension_(dimension) {}
  virtual ~Shape() = default;
  int dimension() const { return dimension_; }

  virtual double signed_distance(const Point& p) const = 0;
  bool contains(const Point& p) const { return signed_distance(p) > 0; }
  virtual Box bounds() const = 0;
  // A box whose own signed distance is nowhere below that of this shape.
  virtual Box distance_bounds() const { return bounds(); }
  // How many shapes it is made of.
  virtual std::size_t parts() const { return 1; }
  // The whole boundary within `clip`, which must be finite where the shape is not.
  virtual std::vector<Patch> patches(const Box& clip) const = 0;
  // Length, area or volume by a formula; nothing if there is none.
  virtual std::optional<double> exact_measure() const { return {}; }
  // Length or area of the boundary likewise (in one dimension: the number of ends).
  virtual std::optional<double> exact_boundary_measure() const { return {}; }
  // Vanishes on the boundary, positive inside, negative outside, with slope 1 at smooth points of the
  // boundary; smooth except at corners: see r_functions.hpp. Throws Error if there is no such formula
  // (meshes).
  virtual symbolic::Expr smooth_distance(const Coordinates& x) const = 0;

 private:
  int dimension_;
};

using ShapePtr = std::shared_ptr<const Shape>;

// The outward normal at a point near the boundary, from the signed distance; exact up to about 1e-9 away from
// corners.
Point normal_at(const Shape& shape, const Point& p);

// Length, area or volume: by formula, or by subdividing the bounding box into at most `cells` cells, with a
// guaranteed error bound. Throws Error for unbounded shapes.
Measure measure(const Shape& shape, std::size_t cells = 200'000);

// The boundary as one parametrized whole. It refers to the shape, which must outlive it.
class Boundary {
 public:
  // Throws Error for shapes without a bounded boundary.
  explicit Boundary(const Shape& shape);
  Boundary(const Shape& shape, const Box& clip);
  // s and v in (0, 1): a point that is uniform by length or area over all patches; nothing if that point is
  // not part of the boundary after Boolean operations.
  std::optional<SurfacePoint> at(double s, double v) const;
  // The same on one of its patches, u and v in (0, 1).
  std::optional<SurfacePoint> on_patch(std::size_t patch, double u, double v) const;
  std::size_t patches() const { return patches_.size(); }
  double patch_measure(std::size_t patch) const { return patches_[patch].measure; }
  // Its place at u, v, whether that is part of the boundary or not.
  Point place_on_patch(std::size_t patch, double u, double v) const {
    return patches_[patch].at(u, v).position;
  }
  Measure measure(std::size_t samples = 100'000) const;
  double total() const { return ends_.empty() ? 0 : ends_.back(); }  // of all patches, kept or not

 private:
  std::vector<Patch> patches_;
  std::vector<double> ends_;  // cumulative measures
  std::optional<double> exact_;
  bool is_surface_;
};

}  // namespace lather::geometry
