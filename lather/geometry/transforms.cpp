#include <fmt/format.h>

#include "lather/core/error.hpp"
#include "lather/geometry/primitives.hpp"

namespace lather::geometry {

using symbolic::Expr;

namespace {

// x = center + factor * R (y - center) + shift, R a rotation.
class Similarity : public Shape {
 public:
  struct Map {
    std::array<Point, 3> rows{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  // of R
    double factor = 1;
    Point center{}, shift{};
  };
  Similarity(ShapePtr shape, const Map& map)
      : Shape(shape->dimension()), shape_(std::move(shape)), map_(map) {
    for (int k = dimension(); k < 3; ++k)
      if (map_.shift[k] != 0)
        throw Error(
            fmt::format("a shape of {} dimensions cannot be moved along axis {}", dimension(), k + 1));
  }
  std::size_t parts() const override { return shape_->parts(); }
  double signed_distance(const Point& p) const override {
    return map_.factor * shape_->signed_distance(back(p));
  }
  Box bounds() const override { return moved(shape_->bounds()); }
  Box distance_bounds() const override { return moved(shape_->distance_bounds()); }
  std::vector<Patch> patches(const Box& clip) const override {
    Box moved = Box::everything();
    if (clip.finite(dimension())) {
      // The ball around the clip box, moved back: large enough whatever the rotation.
      const double reach = 0.5 * clip.diagonal() / map_.factor;
      const Point c = back(clip.center());
      moved = {c - Point{reach, reach, reach}, c + Point{reach, reach, reach}};
      for (int k = dimension(); k < 3; ++k) moved.low[k] = moved.high[k] = 0;
    }
    auto list = shape_->patches(moved);
    for (Patch& patch : list) {
      for (int k = 1; k < dimension(); ++k) patch.measure *= map_.factor;
      patch.at = [at = patch.at, this](double u, double v) { return moved_point(at(u, v)); };
      if (patch.kept)
        patch.kept = [kept = patch.kept, this](const SurfacePoint& p) {
          return kept({back(p.position), unturned(p.normal), p.arc / map_.factor});
        };
    }
    return list;
  }
  std::optional<double> exact_measure() const override {
    return scaled(shape_->exact_measure(), dimension());
  }
  std::optional<double> exact_boundary_measure() const override {
    return scaled(shape_->exact_boundary_measure(), dimension() - 1);
  }
  Expr smooth_distance(const Coordinates& x) const override {
    Coordinates y;
    for (int k = 0; k < dimension(); ++k) {
      Expr sum = x[0].graph().constant(map_.center[k]);
      for (int j = 0; j < dimension(); ++j)
        if (const double r = map_.rows[j][k] / map_.factor; r != 0)
          sum = sum + r * (x[j] - (map_.center[j] + map_.shift[j]));
      y[k] = sum;
    }
    return map_.factor * shape_->smooth_distance(y);
  }

 private:
  // The box around a moved box.
  Box moved(const Box& box) const {
    if (!box.finite(dimension())) return Box::everything();
    Box result;
    for (int corner = 0; corner < 8; ++corner)
      result.include(forth({(corner & 1 ? box.high : box.low)[0], (corner & 2 ? box.high : box.low)[1],
                            (corner & 4 ? box.high : box.low)[2]}));
    return result;
  }
  Point turned(const Point& v) const {
    return {dot(map_.rows[0], v), dot(map_.rows[1], v), dot(map_.rows[2], v)};
  }
  Point unturned(const Point& v) const {
    return v[0] * map_.rows[0] + v[1] * map_.rows[1] + v[2] * map_.rows[2];
  }
  Point forth(const Point& y) const {
    return map_.center + map_.factor * turned(y - map_.center) + map_.shift;
  }
  Point back(const Point& x) const {
    return map_.center + (1 / map_.factor) * unturned(x - map_.center - map_.shift);
  }
  SurfacePoint moved_point(const SurfacePoint& p) const {
    return {forth(p.position), turned(p.normal), map_.factor * p.arc};
  }
  std::optional<double> scaled(std::optional<double> value, int power) const {
    if (value) *value *= std::pow(map_.factor, power);
    return value;
  }

  ShapePtr shape_;
  Map map_;
};

}  // namespace

ShapePtr translate(ShapePtr shape, const Point& by) {
  return std::make_shared<Similarity>(std::move(shape), Similarity::Map{.shift = by});
}

ShapePtr rotate(ShapePtr shape, double angle, const Point& about, const Point& axis) {
  if (shape->dimension() == 1) throw Error("a shape of one dimension cannot be rotated");
  if (!(length(axis) > 0)) throw Error("the axis of a rotation must not be zero");
  const Point n = shape->dimension() == 2 ? Point{0, 0, 1} : unit(axis);
  const double c = std::cos(angle), s = std::sin(angle);
  Similarity::Map map{.center = about};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) map.rows[i][j] = (i == j ? c : 0) + (1 - c) * n[i] * n[j];
  const Point sn = s * n;  // plus the matrix of the cross product with s n
  map.rows[0][1] -= sn[2];
  map.rows[0][2] += sn[1];
  map.rows[1][0] += sn[2];
  map.rows[1][2] -= sn[0];
  map.rows[2][0] -= sn[1];
  map.rows[2][1] += sn[0];
  return std::make_shared<Similarity>(std::move(shape), map);
}

ShapePtr scale(ShapePtr shape, double factor, const Point& about) {
  if (!(factor > 0) || !std::isfinite(factor))
    throw Error(fmt::format("a factor of scaling must be a positive number, not {}", factor));
  return std::make_shared<Similarity>(std::move(shape), Similarity::Map{.factor = factor, .center = about});
}

ShapePtr repeat(ShapePtr shape, const Point& step, std::int64_t copies) {
  if (copies < 1 || copies > kMostCopies)
    throw Error(fmt::format("a shape is repeated 1 to {} times, not {}", kMostCopies, copies));
  if (copies == 1) return shape;
  // A balanced tree: halves of halves.
  const std::int64_t half = copies / 2;
  return unite({repeat(shape, step, half),
                translate(repeat(shape, step, copies - half), static_cast<double>(half) * step)});
}

}  // namespace lather::geometry
