// Unions and differences of many shapes: the same distances and boundaries as asking every shape, from few.

#include <gtest/gtest.h>

#include "geometry/sample_shapes.hpp"

namespace lather::geometry {

namespace {

// Counts how often it is asked.
class Counting final : public Shape {
 public:
  Counting(ShapePtr shape, std::size_t& asked)
      : Shape(shape->dimension()), shape_(std::move(shape)), asked_(asked) {}
  double signed_distance(const Point& p) const override {
    ++asked_;
    return shape_->signed_distance(p);
  }
  Box bounds() const override { return shape_->bounds(); }
  std::vector<Patch> patches(const Box& clip) const override { return shape_->patches(clip); }
  symbolic::Expr smooth_distance(const Coordinates& x) const override { return shape_->smooth_distance(x); }

 private:
  ShapePtr shape_;
  std::size_t& asked_;
};

// Of different kinds, overlapping, some of them with distances that are bounds only, one of them unbounded.
std::vector<ShapePtr> mixed_parts() {
  std::vector<ShapePtr> parts;
  const Random random(3, 5);
  for (std::size_t i = 0; i < 60; ++i) {
    const Point c{random.uniform(4 * i, 0, 10), random.uniform(4 * i + 1, 0, 10)};
    const double r = random.uniform(4 * i + 2, 0.1, 0.9), angle = random.uniform(4 * i + 3, 0, 3);
    const ShapePtr disk = ball(2, c, r), square = box(2, c, c + Point{r, r});
    parts.push_back(i % 5 == 0   ? disk
                    : i % 5 == 1 ? rotate(square, angle, c)
                    : i % 5 == 2 ? intersect({disk, half_space(2, c, {1, angle})})
                    : i % 5 == 3 ? unite({disk, translate(disk, {r, 0})})
                                 : scale(subtract(square, {disk}), 1.3, c));
  }
  parts.push_back(half_space(2, {-2, 0}, {1, 0.1}));
  parts.push_back(channel(2, {3, 4}, {4, 4.3}));
  return parts;
}

double largest(const std::vector<ShapePtr>& parts, const Point& p, std::size_t except = ~std::size_t{0}) {
  double most = -Box::kInfinity;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i != except) most = std::max(most, parts[i]->signed_distance(p));
  return most;
}

std::vector<ShapePtr> disks_on_a_grid(std::size_t side, std::size_t& asked) {
  std::vector<ShapePtr> parts;
  for (std::size_t i = 0; i < side * side; ++i)
    parts.push_back(std::make_shared<Counting>(
        ball(2, {1.5 * static_cast<double>(i % side), 1.5 * static_cast<double>(i / side)}, 0.9), asked));
  return parts;
}

}  // namespace

TEST(ManyParts, HaveTheDistanceOfTheNearestBitForBit) {
  const auto parts = mixed_parts();
  const auto frame = box(2, {-3, -3}, {13, 13});
  const auto all = unite(parts), rest = subtract(frame, parts);
  for (const Point& p : points_around(*frame, 4000, 1)) {
    const double expected = largest(parts, p);
    EXPECT_EQ(all->signed_distance(p), expected) << p[0] << " " << p[1];
    EXPECT_EQ(rest->signed_distance(p), std::min(frame->signed_distance(p), -expected));
  }
}

TEST(ManyParts, KeepTheirBoundaryOutsideAllOthers) {
  auto parts = mixed_parts();
  parts.resize(60);  // the bounded ones
  const auto all = unite(parts);
  const Boundary boundary(*all);
  std::size_t patch = 0, kept = 0, dropped = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Boundary own(*parts[i]);
    for (std::size_t k = 0; k < own.patches(); ++k, ++patch)
      for (const double u : {0.1, 0.35, 0.6, 0.85}) {
        const auto before = own.on_patch(k, u, 0.5), after = boundary.on_patch(patch, u, 0.5);
        EXPECT_EQ(after.has_value(), before && largest(parts, before->position, i) < 0);
        if (after) {
          EXPECT_EQ(after->position, before->position);
          EXPECT_EQ(after->normal, before->normal);
        }
        ++(after ? kept : dropped);
      }
  }
  EXPECT_EQ(patch, boundary.patches());
  EXPECT_GT(kept, 50u);
  EXPECT_GT(dropped, 50u);
}

TEST(ManyParts, AreNotAllAsked) {
  std::size_t asked = 0;
  const std::size_t side = 30;
  const auto parts = disks_on_a_grid(side, asked);
  const auto all = unite(parts), rest = subtract(box(2, {-2, -2}, {46, 46}), parts);
  for (const auto& shape : {all, rest}) {
    asked = 0;
    const auto points = points_around(*shape, 500, 2);
    for (const Point& p : points) shape->signed_distance(p);
    EXPECT_LT(asked, points.size() * 40);  // of 900
    asked = 0;
    const std::size_t places = 500;
    for_boundary(Boundary(*shape), places, [](const SurfacePoint&) {});
    EXPECT_LT(asked, places * 40);
  }
  // A row is a tree of moved halves.
  const auto row = repeat(std::make_shared<Counting>(ball(2, {0, 0}, 0.75), asked), {1, 0}, 800);
  asked = 0;
  const auto points = points_around(*row, 500, 3);
  for (const Point& p : points) row->signed_distance(p);
  EXPECT_LT(asked, points.size() * 80);
}

}  // namespace lather::geometry
