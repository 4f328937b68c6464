// Intersection and complement; the others follow: a + b = ~(~a & ~b), a - b = a & ~b.

#include <fmt/format.h>

#include "lather/core/error.hpp"
#include "lather/geometry/primitives.hpp"
#include "lather/geometry/r_functions.hpp"

namespace lather::geometry {

namespace {

// A point closer to a boundary than this, relative to the size of the shape, counts as on it.
constexpr double kOnBoundary = 1e-9;
// How far to step to either side of a boundary, also relative.
constexpr double kBeside = 1e-7;

// More are a mistake, or too many for distances to be computed in reasonable time.
constexpr std::size_t kMostParts = 1000;

class Complement : public Shape {
 public:
  explicit Complement(ShapePtr a) : Shape(a->dimension()), a_(std::move(a)) {}
  double signed_distance(const Point& p) const override { return -a_->signed_distance(p); }
  Box bounds() const override { return Box::everything(); }
  std::size_t parts() const override { return a_->parts(); }
  std::vector<Patch> patches(const Box& clip) const override {
    auto list = a_->patches(clip);
    for (Patch& patch : list) {
      patch.at = [at = patch.at](double u, double v) {
        SurfacePoint p = at(u, v);
        p.normal = -p.normal;
        return p;
      };
      if (patch.kept)
        patch.kept = [kept = patch.kept](SurfacePoint p) {
          p.normal = -p.normal;
          return kept(p);
        };
    }
    return list;
  }
  std::optional<double> exact_boundary_measure() const override { return a_->exact_boundary_measure(); }
  symbolic::Expr smooth_distance(const Coordinates& x) const override { return -a_->smooth_distance(x); }

 private:
  ShapePtr a_;
};

class Intersection : public Shape {
 public:
  Intersection(ShapePtr a, ShapePtr b) : Shape(a->dimension()), a_(std::move(a)), b_(std::move(b)) {
    if (a_->dimension() != b_->dimension())
      throw Error(
          fmt::format("shapes of {} and {} dimensions cannot be combined", a_->dimension(), b_->dimension()));
    if (parts() > kMostParts)
      throw Error(fmt::format("a shape of {} parts; at most {} are combined", parts(), kMostParts));
  }
  std::size_t parts() const override { return a_->parts() + b_->parts(); }
  double signed_distance(const Point& p) const override {
    return std::min(a_->signed_distance(p), b_->signed_distance(p));
  }
  Box bounds() const override { return a_->bounds().meet(b_->bounds()); }

  // The boundary of each operand inside the other. Where the two boundaries coincide, the first one's is
  // used, if it separates inside from outside at all.
  std::vector<Patch> patches(const Box& clip) const override {
    const Box box = bounds().meet(clip);
    const double size = box.finite(dimension()) ? box.diagonal() : clip.diagonal();
    auto list = a_->patches(box);
    for (Patch& patch : list)
      patch.kept = [kept = patch.kept, this, size](const SurfacePoint& p) {
        if (kept && !kept(p)) return false;
        const double other = b_->signed_distance(p.position);
        if (std::abs(other) > kOnBoundary * size) return other > 0;
        return signed_distance(p.position - kBeside * size * p.normal) > 0 &&
               signed_distance(p.position + kBeside * size * p.normal) < 0;
      };
    for (Patch& patch : b_->patches(box)) {
      patch.kept = [kept = patch.kept, this, size](const SurfacePoint& p) {
        return (!kept || kept(p)) && a_->signed_distance(p.position) > kOnBoundary * size;
      };
      list.push_back(std::move(patch));
    }
    return list;
  }
  symbolic::Expr smooth_distance(const Coordinates& x) const override {
    return r_and(a_->smooth_distance(x), b_->smooth_distance(x));
  }

 private:
  ShapePtr a_, b_;
};

// A union is known to be bounded by its parts; its complement alone is not.
class Union : public Shape {
 public:
  Union(const ShapePtr& a, const ShapePtr& b)
      : Shape(a->dimension()),
        bounds_(a->bounds().join(b->bounds())),
        inside_(std::make_shared<Complement>(std::make_shared<Intersection>(
            std::make_shared<Complement>(a), std::make_shared<Complement>(b)))) {}
  double signed_distance(const Point& p) const override { return inside_->signed_distance(p); }
  Box bounds() const override { return bounds_; }
  std::size_t parts() const override { return inside_->parts(); }
  std::vector<Patch> patches(const Box& clip) const override { return inside_->patches(bounds_.meet(clip)); }
  symbolic::Expr smooth_distance(const Coordinates& x) const override { return inside_->smooth_distance(x); }

 private:
  Box bounds_;
  ShapePtr inside_;
};

}  // namespace

ShapePtr complement(ShapePtr a) { return std::make_shared<Complement>(std::move(a)); }
ShapePtr intersect(ShapePtr a, ShapePtr b) {
  return std::make_shared<Intersection>(std::move(a), std::move(b));
}
ShapePtr subtract(ShapePtr a, ShapePtr b) { return intersect(std::move(a), complement(std::move(b))); }
ShapePtr unite(const ShapePtr& a, const ShapePtr& b) { return std::make_shared<Union>(a, b); }

}  // namespace lather::geometry
