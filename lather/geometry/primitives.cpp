#include "lather/geometry/primitives.hpp"

#include <fmt/format.h>

#include <numbers>

#include "lather/core/error.hpp"
#include "lather/geometry/r_functions.hpp"

namespace lather::geometry {

using symbolic::Expr;

namespace {

constexpr double kPi = std::numbers::pi;

void require_positive(double value, std::string_view what) {
  if (!(value > 0) || !std::isfinite(value))
    throw Error(fmt::format("{} must be a positive number, not {}", what, value));
}

// The parallelogram at `corner` spanned by `first` and `second`; a segment if `second` is zero.
Patch flat_patch(const Point& corner, const Point& first, const Point& second, const Point& normal,
                 double arc_start) {
  const bool segment = length(second) == 0;
  const double along = length(first);
  return {segment ? along : along * length(second),
          [=](double u, double v) {
            return SurfacePoint{corner + u * first + v * second, normal, segment ? arc_start + u * along : 0};
          },
          {}};
}

class BoxShape : public Shape {
 public:
  BoxShape(int dimension, const Point& low, const Point& high, int first_wall)
      : Shape(dimension), box_{low, high}, first_wall_(first_wall) {
    for (int k = 0; k < dimension; ++k)
      if (!(low[k] < high[k]) || !std::isfinite(low[k]) || !std::isfinite(high[k]))
        throw Error(fmt::format("the low corner must lie below the high corner: {} and {} do not grow",
                                low[k], high[k]));
    for (int k = dimension; k < 3; ++k) box_.low[k] = box_.high[k] = 0;
  }
  double signed_distance(const Point& p) const override {
    double outside = 0, inside = -Box::kInfinity;
    for (int k = 0; k < dimension(); ++k) {
      const double q =
          std::abs(p[k] - 0.5 * (box_.low[k] + box_.high[k])) - 0.5 * (box_.high[k] - box_.low[k]);
      if (k < first_wall_ && q <= 0) continue;  // an open end is far away from within
      outside += std::max(q, 0.0) * std::max(q, 0.0);
      inside = std::max(inside, q);
    }
    return -(std::sqrt(outside) + std::min(inside, 0.0));
  }
  Box bounds() const override { return box_; }
  Box distance_bounds() const override {
    Box box = box_;
    for (int k = 0; k < first_wall_; ++k) {
      box.low[k] = -Box::kInfinity;
      box.high[k] = Box::kInfinity;
    }
    return box;
  }
  std::vector<Patch> patches(const Box&) const override {
    const Point size = box_.high - box_.low;
    std::vector<Patch> list;
    if (dimension() == 1) {
      for (const double end : {box_.low[0], box_.high[0]}) {
        const double outward = end == box_.low[0] ? -1 : 1;
        list.push_back({1, [=](double, double) { return SurfacePoint{{end}, {outward}, 0}; }, {}});
      }
    } else if (dimension() == 2) {  // counterclockwise from the low corner
      const Point corner[] = {box_.low, {box_.high[0], box_.low[1]}, box_.high, {box_.low[0], box_.high[1]}};
      const Point outward[] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
      double arc = 0;
      for (int side = 0; side < 4; ++side) {
        const Point along = corner[(side + 1) % 4] - corner[side];
        if (side % 2 == 0 || first_wall_ == 0)
          list.push_back(flat_patch(corner[side], along, {}, outward[side], arc));
        arc += length(along);
      }
    } else {
      for (int k = first_wall_; k < 3; ++k) {
        Point first{}, second{}, normal{};
        first[(k + 1) % 3] = size[(k + 1) % 3];
        second[(k + 2) % 3] = size[(k + 2) % 3];
        normal[k] = 1;
        Point high = box_.low;
        high[k] = box_.high[k];
        list.push_back(flat_patch(box_.low, first, second, -normal, 0));
        list.push_back(flat_patch(high, first, second, normal, 0));
      }
    }
    return list;
  }
  std::optional<double> exact_measure() const override {
    double product = 1;
    for (int k = 0; k < dimension(); ++k) product *= box_.high[k] - box_.low[k];
    return product;
  }
  std::optional<double> exact_boundary_measure() const override {
    double sum = 0;
    for (const Patch& patch : patches({})) sum += patch.measure;
    return sum;
  }
  Expr smooth_distance(const Coordinates& x) const override {
    Expr all;
    for (int k = first_wall_; k < dimension(); ++k) {
      const Expr between = r_between(x[k], box_.low[k], box_.high[k]);
      all = all ? r_and(all, between) : between;
    }
    return all;
  }

 private:
  Box box_;
  int first_wall_;  // axes below this have no walls
};

class Ball : public Shape {
 public:
  Ball(int dimension, const Point& center, double radius)
      : Shape(dimension), center_(center), radius_(radius) {
    require_positive(radius, "the radius");
  }
  double signed_distance(const Point& p) const override { return radius_ - length(p - center_); }
  Box bounds() const override {
    Box box{center_, center_};
    for (int k = 0; k < dimension(); ++k) {
      box.low[k] -= radius_;
      box.high[k] += radius_;
    }
    return box;
  }
  std::vector<Patch> patches(const Box&) const override {
    const auto at = [c = center_, r = radius_, plane = dimension() == 2](double u, double v) {
      if (plane) {
        const double angle = 2 * kPi * u;
        const Point n{std::cos(angle), std::sin(angle)};
        return SurfacePoint{c + r * n, n, angle * r};
      }
      const double z = 1 - 2 * u, ring = std::sqrt((1 - z) * (1 + z)), angle = 2 * kPi * v;
      const Point n{ring * std::cos(angle), ring * std::sin(angle), z};
      return SurfacePoint{c + r * n, n, 0};
    };
    return {{*exact_boundary_measure(), at, {}}};
  }
  std::optional<double> exact_measure() const override {
    return dimension() == 2 ? kPi * radius_ * radius_ : 4.0 / 3 * kPi * radius_ * radius_ * radius_;
  }
  std::optional<double> exact_boundary_measure() const override {
    return dimension() == 2 ? 2 * kPi * radius_ : 4 * kPi * radius_ * radius_;
  }
  Expr smooth_distance(const Coordinates& x) const override {
    Expr sum = symbolic::pow(x[0] - center_[0], 2);
    for (int k = 1; k < dimension(); ++k) sum = sum + symbolic::pow(x[k] - center_[k], 2);
    return r_within(sum, radius_);
  }

 private:
  Point center_;
  double radius_;
};

class HalfSpace : public Shape {
 public:
  HalfSpace(int dimension, const Point& point, const Point& outward) : Shape(dimension), point_(point) {
    if (!(length(outward) > 0)) throw Error("the outward direction of a half space must not be zero");
    normal_ = unit(outward);
  }
  double signed_distance(const Point& p) const override { return -dot(normal_, p - point_); }
  Box bounds() const override {
    Box box = Box::everything();
    for (int k = 0; k < dimension(); ++k)
      if (std::abs(normal_[k]) == 1) (normal_[k] > 0 ? box.high : box.low)[k] = point_[k];
    return box;
  }
  std::vector<Patch> patches(const Box& clip) const override {
    if (!clip.finite(dimension()))
      throw Error("the boundary of a half space is unbounded: intersect it with a bounded shape");
    const Point center = clip.center() + signed_distance(clip.center()) * normal_;
    const double reach = clip.diagonal();
    const Point first =
        dimension() == 1 ? Point{}
        : dimension() == 2
            ? Point{-normal_[1], normal_[0]}
            : unit(cross(normal_, std::abs(normal_[0]) < 0.6 ? Point{1, 0, 0} : Point{0, 1, 0}));
    if (dimension() == 1)
      return {{1, [p = point_, n = normal_](double, double) { return SurfacePoint{p, n, 0}; }, {}}};
    const Point second = dimension() == 3 ? cross(normal_, first) : Point{};
    return {flat_patch(center - reach * first - reach * second, 2 * reach * first, 2 * reach * second,
                       normal_, -reach)};
  }
  Expr smooth_distance(const Coordinates& x) const override {
    Expr sum = -normal_[0] * (x[0] - point_[0]);
    for (int k = 1; k < dimension(); ++k) sum = sum - normal_[k] * (x[k] - point_[k]);
    return sum;
  }

 private:
  Point point_, normal_;
};

class Torus : public Shape {
 public:
  Torus(const Point& center, double ring, double tube) : Shape(3), center_(center), ring_(ring), tube_(tube) {
    require_positive(tube, "the radius of the tube");
    if (!(ring > tube) || !std::isfinite(ring))
      throw Error(fmt::format("the ring of a torus must be wider than its tube: {} and {}", ring, tube));
  }
  double signed_distance(const Point& p) const override {
    const Point q = p - center_;
    return tube_ - std::hypot(std::hypot(q[0], q[1]) - ring_, q[2]);
  }
  Box bounds() const override {
    const double r = ring_ + tube_;
    return {center_ - Point{r, r, tube_}, center_ + Point{r, r, tube_}};
  }
  std::vector<Patch> patches(const Box&) const override {
    const auto at = [c = center_, R = ring_, r = tube_](double u, double v) {
      // The area up to the angle a of the tube grows as a + (r/R) sin a: Kepler's equation.
      const double target = 2 * kPi * u - kPi, e = r / R;
      double a = target / (1 + e);
      for (int i = 0; i < 60; ++i) {
        const double step = (a + e * std::sin(a) - target) / (1 + e * std::cos(a));
        // Newton may overshoot where the slope is small; the root lies within e of the target.
        a = std::clamp(a - step, target - e, target + e);
        if (std::abs(step) < 1e-15) break;
      }
      const double around = 2 * kPi * v;
      const Point n{std::cos(a) * std::cos(around), std::cos(a) * std::sin(around), std::sin(a)};
      return SurfacePoint{c + Point{R * std::cos(around), R * std::sin(around), 0} + r * n, n, 0};
    };
    return {{*exact_boundary_measure(), at, {}}};
  }
  std::optional<double> exact_measure() const override { return 2 * kPi * kPi * ring_ * tube_ * tube_; }
  std::optional<double> exact_boundary_measure() const override { return 4 * kPi * kPi * ring_ * tube_; }
  Expr smooth_distance(const Coordinates& x) const override {
    const Expr around = sqrt(symbolic::pow(x[0] - center_[0], 2) + symbolic::pow(x[1] - center_[1], 2));
    return r_within(symbolic::pow(around - ring_, 2) + symbolic::pow(x[2] - center_[2], 2), tube_);
  }

 private:
  Point center_;
  double ring_, tube_;
};

}  // namespace

ShapePtr box(int dimension, const Point& low, const Point& high) {
  return std::make_shared<BoxShape>(dimension, low, high, 0);
}
ShapePtr channel(int dimension, const Point& low, const Point& high) {
  return std::make_shared<BoxShape>(dimension, low, high, 1);
}
ShapePtr ball(int dimension, const Point& center, double radius) {
  return std::make_shared<Ball>(dimension, center, radius);
}
ShapePtr half_space(int dimension, const Point& point, const Point& outward) {
  return std::make_shared<HalfSpace>(dimension, point, outward);
}
ShapePtr torus(const Point& center, double ring_radius, double tube_radius) {
  return std::make_shared<Torus>(center, ring_radius, tube_radius);
}

}  // namespace lather::geometry
