#pragma once
// A simple polygon, counterclockwise.

#include "lather/geometry/primitives.hpp"

namespace lather::geometry {

class Polygon : public Shape {
 public:
  // Corners in either direction. Throws Error for fewer than three, for equal neighbours and for edges that
  // cross.
  explicit Polygon(std::vector<Point> corners);

  double signed_distance(const Point& p) const override;
  Box bounds() const override;
  std::vector<Patch> patches(const Box&) const override;
  std::optional<double> exact_measure() const override;
  std::optional<double> exact_boundary_measure() const override;
  // Half planes joined by R-functions: convex corners by "and", pockets by "or", every edge once (D. Dobkin
  // et al., "An efficient algorithm for finding the CSG representation of a simple polygon", 1993).
  symbolic::Expr smooth_distance(const Coordinates& x) const override;

  const std::vector<Point>& corners() const { return corners_; }
  Point edge(std::size_t i) const { return corners_[(i + 1) % corners_.size()] - corners_[i]; }
  Point outward(std::size_t i) const { return unit({edge(i)[1], -edge(i)[0]}); }

 private:
  symbolic::Expr joined(const std::vector<std::size_t>& chain, bool conjunction, const Coordinates& x) const;
  std::vector<Point> corners_;
};

}  // namespace lather::geometry
