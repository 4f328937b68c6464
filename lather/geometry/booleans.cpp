// Intersection of shapes and complements, and complement; the others follow: a + b = ~(~a & ~b), a - b = a & ~b.

#include <fmt/format.h>

#include "lather/core/error.hpp"
#include "lather/geometry/primitives.hpp"
#include "lather/geometry/r_functions.hpp"
#include "lather/geometry/shape_tree.hpp"

namespace lather::geometry {

namespace {

// A point closer to a boundary than this, relative to the size of the shape, counts as on it.
constexpr double kOnBoundary = 1e-9;
// How far to step to either side of a boundary, also relative.
constexpr double kBeside = 1e-7;

// More are a mistake.
constexpr std::size_t kMostParts = 1000;

// The same piece of boundary, seen from the other side.
void turn_around(Patch& patch) {
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

class Complement : public Shape {
 public:
  explicit Complement(ShapePtr a) : Shape(a->dimension()), a_(std::move(a)) {}
  double signed_distance(const Point& p) const override { return -a_->signed_distance(p); }
  Box bounds() const override { return Box::everything(); }
  std::size_t parts() const override { return a_->parts(); }
  std::vector<Patch> patches(const Box& clip) const override {
    auto list = a_->patches(clip);
    for (Patch& patch : list) turn_around(patch);
    return list;
  }
  std::optional<double> exact_boundary_measure() const override { return a_->exact_boundary_measure(); }
  symbolic::Expr smooth_distance(const Coordinates& x) const override { return -a_->smooth_distance(x); }

 private:
  ShapePtr a_;
};

// Of the first shapes of the list, `inside` in number, and the complements of the others.
class Intersection : public Shape {
 public:
  Intersection(std::vector<ShapePtr> members, std::size_t inside)
      : Shape(members.at(0)->dimension()), members_(std::move(members)), inside_(inside) {
    for (const ShapePtr& member : members_) {
      require_same_dimension(*members_[0], *member);
      parts_ += member->parts();
    }
    if (parts_ > kMostParts)
      throw Error(fmt::format("a shape of {} parts; at most {} are combined", parts_, kMostParts));
    for (std::size_t i = 0; i < inside_; ++i) bounds_ = bounds_.meet(members_[i]->bounds());
    without_ = ShapeTree({members_.begin() + static_cast<std::ptrdiff_t>(inside_), members_.end()});
  }
  std::size_t parts() const override { return parts_; }
  double signed_distance(const Point& p) const override {
    double least = Box::kInfinity;
    for (std::size_t i = 0; i < inside_; ++i) least = std::min(least, members_[i]->signed_distance(p));
    return std::min(least, -without_.largest(p));
  }
  Box bounds() const override { return bounds_; }
  // Any member bounds the distance; where boxes meet, distances to their intersection may be larger.
  Box distance_bounds() const override {
    Box least = Box::everything();
    for (std::size_t i = 0; i < inside_; ++i)
      if (const Box box = members_[i]->distance_bounds(); box.finite(dimension()))
        if (!least.finite(dimension()) || box.diagonal() < least.diagonal()) least = box;
    return least;
  }

  // The boundary of each member inside all others.
  std::vector<Patch> patches(const Box& clip) const override {
    const Box box = bounds().meet(clip);
    const double size = box.finite(dimension()) ? box.diagonal() : clip.diagonal();
    std::vector<Patch> list;
    for (std::size_t i = 0; i < members_.size(); ++i)
      for (Patch& patch : members_[i]->patches(box)) {
        if (i >= inside_) turn_around(patch);
        patch.kept = [kept = std::move(patch.kept), this, i, size](const SurfacePoint& p) {
          return (!kept || kept(p)) && on_boundary(i, p, size);
        };
        list.push_back(std::move(patch));
      }
    return list;
  }
  symbolic::Expr smooth_distance(const Coordinates& x) const override {
    symbolic::Expr all;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const auto one = i < inside_ ? members_[i]->smooth_distance(x) : -members_[i]->smooth_distance(x);
      all = i == 0 ? one : r_and(all, one);
    }
    return all;
  }

 private:
  // Whether a point on the boundary of member i belongs to the whole boundary. Where boundaries coincide, that
  // of the first member is used, if it separates inside from outside at all.
  bool on_boundary(std::size_t i, const SurfacePoint& p, double size) const {
    const double close = kOnBoundary * size;
    bool within = true, coincides = false;
    const auto compare = [&](std::size_t other, double distance) {
      if (other == i || distance > close) return true;
      within = other > i && distance >= -close;
      coincides = true;
      return within;
    };
    for (std::size_t j = 0; within && j < inside_; ++j)
      compare(j, j == i ? 0 : members_[j]->signed_distance(p.position));
    if (within)
      without_.for_each_above(p.position, -close, [&](std::size_t hole) {
        const std::size_t j = inside_ + hole;
        return compare(j, j == i ? 0 : -members_[j]->signed_distance(p.position));
      });
    if (!within || !coincides) return within;
    return signed_distance(p.position - kBeside * size * p.normal) > 0 &&
           signed_distance(p.position + kBeside * size * p.normal) < 0;
  }

  std::vector<ShapePtr> members_;
  std::size_t inside_, parts_ = 0;
  Box bounds_ = Box::everything();
  ShapeTree without_;  // the members whose complements are meant
};

// A union is known to be bounded by its parts; its complement alone is not.
class Union : public Shape {
 public:
  explicit Union(const std::vector<ShapePtr>& members)
      : Shape(members.at(0)->dimension()), outside_(members, 0) {
    for (const ShapePtr& member : members) {
      bounds_ = bounds_.join(member->bounds());
      distance_bounds_ = distance_bounds_.join(member->distance_bounds());
    }
  }
  double signed_distance(const Point& p) const override { return -outside_.signed_distance(p); }
  Box bounds() const override { return bounds_; }
  Box distance_bounds() const override { return distance_bounds_; }
  std::size_t parts() const override { return outside_.parts(); }
  std::vector<Patch> patches(const Box& clip) const override {
    auto list = outside_.patches(bounds_.meet(clip));
    for (Patch& patch : list) turn_around(patch);
    return list;
  }
  symbolic::Expr smooth_distance(const Coordinates& x) const override { return -outside_.smooth_distance(x); }

 private:
  Box bounds_, distance_bounds_;
  Intersection outside_;  // of the complements
};

}  // namespace

void require_same_dimension(const Shape& a, const Shape& b) {
  if (a.dimension() != b.dimension())
    throw Error(
        fmt::format("shapes of {} and {} dimensions cannot be combined", a.dimension(), b.dimension()));
}

ShapePtr complement(ShapePtr a) { return std::make_shared<Complement>(std::move(a)); }
ShapePtr intersect(std::vector<ShapePtr> members) {
  const std::size_t count = members.size();
  return count == 1 ? members[0] : std::make_shared<Intersection>(std::move(members), count);
}
ShapePtr subtract(ShapePtr from, std::vector<ShapePtr> parts) {
  parts.insert(parts.begin(), std::move(from));
  return std::make_shared<Intersection>(std::move(parts), 1);
}
ShapePtr unite(const std::vector<ShapePtr>& members) {
  return members.size() == 1 ? members[0] : std::make_shared<Union>(members);
}

}  // namespace lather::geometry
