// Shapes against closed forms, the divergence theorem, brute force and rotated copies of themselves.

#include <gtest/gtest.h>

#include "geometry/sample_shapes.hpp"
#include "lather/core/error.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::geometry {

class EveryShape : public testing::TestWithParam<SampleShape> {};

INSTANTIATE_TEST_SUITE_P(All, EveryShape, testing::ValuesIn(sample_shapes()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
});

TEST_P(EveryShape, HasTheMeasuresOfItsClosedForm) {
  const auto& [name, shape, expected, boundary, exact] = GetParam();
  if (expected) {
    const Measure m = measure(*shape);
    EXPECT_NEAR(m.value, *expected, m.error + 1e-12 * *expected);
    EXPECT_LT(m.error, 0.1 * *expected);
  }
  if (boundary) {
    const Measure m = Boundary(*shape).measure(20'000);
    EXPECT_NEAR(m.value, *boundary, 2 * m.error + 1e-12 * *boundary);
    EXPECT_LT(m.error, 0.05 * *boundary);
  }
}

// The integral of the normal vanishes, that of x . n is the dimension times the volume: tests areas, normals
// and uniformity at once.
TEST_P(EveryShape, ObeysTheDivergenceTheorem) {
  const auto& [name, shape, expected, boundary_measure, exact] = GetParam();
  const std::size_t count = 20'000;
  const Boundary boundary(*shape);
  const double share = boundary.total() / static_cast<double>(count);
  Point normal{};
  double flux = 0;
  const Point c = shape->bounds().center();
  for_boundary(boundary, count, [&](const SurfacePoint& p) {
    normal = normal + share * p.normal;
    flux += share * dot(p.position - c, p.normal);
  });
  const Measure m = measure(*shape);
  const double area = boundary.measure(20'000).value;
  EXPECT_LT(length(normal), 2e-3 * area);
  EXPECT_NEAR(flux / shape->dimension(), m.value, m.error + 5e-3 * m.value);
}

TEST_P(EveryShape, HasItsBoundaryWhereTheDistanceVanishesAndItsNormalsOutward) {
  const auto& shape = *GetParam().shape;
  const double size = shape.bounds().diagonal();
  std::size_t checked = 0;
  for_boundary(Boundary(shape), 2000, [&](const SurfacePoint& p) {
    EXPECT_NEAR(shape.signed_distance(p.position), 0, 1e-12 * size);
    EXPECT_NEAR(length(p.normal), 1, 1e-12);
    EXPECT_GT(shape.signed_distance(p.position - 1e-7 * size * p.normal), 0);
    EXPECT_LT(shape.signed_distance(p.position + 1e-7 * size * p.normal), 0);
    if (length(normal_at(shape, p.position) - p.normal) < 1e-6) ++checked;
  });
  EXPECT_GT(checked, 150u);  // the others are at corners or were not kept
}

// |sdf| is the distance to the nearest of many boundary points, up to their spacing, wherever it is exact.
TEST_P(EveryShape, MeasuresTheDistanceToTheNearestPointOfItsBoundary) {
  const auto& [name, shape, expected, boundary_measure, exact] = GetParam();
  std::vector<Point> surface;
  const std::size_t kept =
      for_boundary(Boundary(*shape), 20'000, [&](const SurfacePoint& p) { surface.push_back(p.position); });
  ASSERT_GT(kept, 500u);
  const double spacing = shape->dimension() == 3 ? 0.12 : 0.01;
  for (const Point& p : points_around(*shape, 150, 1)) {
    double nearest = 1e300;
    for (const Point& q : surface) nearest = std::min(nearest, length(p - q));
    const double s = std::abs(shape->signed_distance(p));
    EXPECT_LE(s, nearest + 1e-12);  // never too large
    if (exact) {
      EXPECT_GE(s, nearest - spacing);
    }
  }
}

TEST_P(EveryShape, IsTheSameWhenTurnedAndMoved) {
  const auto& shape = GetParam().shape;
  if (shape->dimension() == 1) GTEST_SKIP();
  const Point axis{1, -2, 0.5}, about{0.2, 0.1, 0}, by{0.4, -0.7, 0};
  const auto copy = translate(rotate(shape, 1.234, about, axis), by);
  const auto there_and_back = rotate(translate(copy, -by), -1.234, about, axis);
  for (const Point& p : points_around(*shape, 300, 2))
    EXPECT_NEAR(there_and_back->signed_distance(p), shape->signed_distance(p), 1e-12);
  // Its boundary and volume move along.
  for_boundary(Boundary(*copy), 500, [&](const SurfacePoint& p) {
    EXPECT_NEAR(copy->signed_distance(p.position), 0, 1e-11);
    EXPECT_LT(copy->signed_distance(p.position + 1e-6 * p.normal), 0);
  });
  if (shape->exact_measure()) {
    EXPECT_DOUBLE_EQ(*copy->exact_measure(), *shape->exact_measure());
  }
}

TEST_P(EveryShape, HasASmoothDistanceWithItsSignAndSlopeOneAtTheBoundary) {
  const auto& shape = *GetParam().shape;
  symbolic::Graph graph;
  const Coordinates x{graph.symbol("x"), graph.symbol("y"), graph.symbol("z")};
  const symbolic::Expr omega = shape.smooth_distance(x);
  const auto value = [&](const Point& p) {
    return symbolic::evaluate<double>(std::span(&omega, 1), {{x[0], p[0]}, {x[1], p[1]}, {x[2], p[2]}})[0];
  };
  for (const Point& p : points_around(shape, 300, 3))
    EXPECT_EQ(value(p) > 0, shape.contains(p)) << p[0] << " " << p[1] << " " << p[2];
  std::size_t checked = 0, right = 0;
  for_boundary(Boundary(shape), 200, [&](const SurfacePoint& p) {
    EXPECT_NEAR(value(p.position), 0, 1e-12);
    const double h = 1e-6;
    const double slope = (value(p.position - h * p.normal) - value(p.position + h * p.normal)) / (2 * h);
    ++checked;
    right += std::abs(slope - 1) < 1e-3;
  });
  EXPECT_GT(right, checked * 9 / 10);  // the others are near corners
}

TEST(Booleans, AreTheLogicOfTheirOperands) {
  const auto a = polygon({{-1, -1}, {1, -1}, {1, 0}, {0, 0}, {0, 1}, {-1, 1}}), b = ball(2, {0.2, 0.1}, 0.7),
             c = ellipse({0, 0}, 0.3, 1.2);
  const auto shape = unite({subtract(a, {b}), intersect({complement(a), c})});
  for (const Point& p : points_around(*unite({a, c}), 5000, 4)) {
    const bool in_a = a->contains(p), in_b = b->contains(p), in_c = c->contains(p);
    EXPECT_EQ(shape->contains(p), (in_a && !in_b) || (!in_a && in_c));
  }
}

TEST(Booleans, CountASharedBoundaryOnce) {
  const auto square = box(2, {0, 0}, {1, 1});
  EXPECT_NEAR(Boundary(*unite({square, box(2, {0, 0}, {1, 1})})).measure().value, 4, 1e-3);
  EXPECT_NEAR(Boundary(*intersect({square, box(2, {0, -1}, {1, 1})})).measure().value, 4, 1e-3);
  EXPECT_NEAR(Boundary(*subtract(square, {box(2, {0.5, 0}, {1, 1})})).measure().value, 3, 1e-3);
}

TEST(Channel, HasNoEnds) {
  const auto shape = channel(2, {0, 0}, {3, 1});
  EXPECT_DOUBLE_EQ(shape->signed_distance({0.01, 0.5}), 0.5);
  EXPECT_LT(shape->signed_distance({-0.1, 0.5}), 0);
  for_boundary(Boundary(*shape), 100, [](const SurfacePoint& p) { EXPECT_EQ(std::abs(p.normal[1]), 1); });
  EXPECT_DOUBLE_EQ(Boundary(*shape).measure().value, 6);
}

TEST(Arc, RunsAlongTheBoundary) {
  const Boundary square(*box(2, {0, 0}, {1, 1}));
  for (const double s : {0.1, 0.3, 0.6, 0.9}) EXPECT_NEAR(square.at(s, 0)->arc, 4 * s, 1e-12);
  const auto shape = ellipse({0, 0}, 2, 1);
  const Boundary curve(*shape);
  EXPECT_NEAR(curve.total(), 9.688448220547675, 1e-11);  // 8 E(3/4)
  double walked = 0;
  Point last = curve.at(0.5 / 20'000, 0)->position;
  for (int i = 1; i < 20'000; ++i) {
    const auto p = curve.at((i + 0.5) / 20'000, 0);
    walked += length(p->position - last);
    last = p->position;
    EXPECT_NEAR(p->arc - curve.total() * 0.5 / 20'000, walked, 1e-6);
  }
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(ShapeErrors, SayWhatIsWrong) {
  EXPECT_EQ(message_of([] { ball(2, {}, -1); }), "the radius must be a positive number, not -1");
  EXPECT_NE(message_of([] { box(2, {0, 0}, {1, 0}); }).find("do not grow"), std::string::npos);
  EXPECT_NE(message_of([] { polygon({{0, 0}, {1, 1}, {1, 0}, {0, 1}}); }).find("cross"), std::string::npos);
  EXPECT_NE(message_of([] { polygon({{0, 0}, {2, 0}, {1, 0}}); }).find("cross or touch"), std::string::npos);
  EXPECT_NE(message_of([] { torus({}, 1, 2); }).find("wider than its tube"), std::string::npos);
  EXPECT_NE(message_of([] { revolve({{-1, 0}, {1, 0}, {1, 1}}); }).find("r >= 0"), std::string::npos);
  EXPECT_NE(message_of([] {
              unite({ball(2, {}, 1), ball(3, {}, 1)});
            }).find("dimensions"),
            std::string::npos);
  EXPECT_NE(message_of([] { Boundary(*half_space(2, {}, {1, 0})); }).find("unbounded"), std::string::npos);
  EXPECT_NE(message_of([] { measure(*half_space(2, {}, {1, 0})); }).find("unbounded"), std::string::npos);
}

}  // namespace lather::geometry
