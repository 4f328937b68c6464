// A million points per shape.
#include <gtest/gtest.h>

#include "geometry/sample_shapes.hpp"

namespace lather::geometry {
namespace {

class MillionPoints : public testing::TestWithParam<SampleShape> {};

INSTANTIATE_TEST_SUITE_P(All, MillionPoints, testing::ValuesIn(sample_shapes()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
});

// The fraction of random points inside is the measure, within four standard deviations.
TEST_P(MillionPoints, FillTheMeasure) {
  const auto& shape = *GetParam().shape;
  const std::size_t count = 1'000'000;
  std::size_t inside = 0;
  for (const Point& p : points_around(shape, count, 7)) inside += shape.contains(p);
  const Box box = shape.bounds();
  double volume = 1;
  for (int k = 0; k < shape.dimension(); ++k) volume *= 1.4 * (box.high[k] - box.low[k]);
  const double n = static_cast<double>(count), share = static_cast<double>(inside) / n;
  const Measure m = measure(shape, 2'000'000);
  EXPECT_NEAR(share * volume, m.value, m.error + 4 * volume * std::sqrt(share * (1 - share) / n));
}

TEST_P(MillionPoints, OnTheBoundaryObeyTheDivergenceTheorem) {
  const auto& shape = *GetParam().shape;
  const std::size_t count = 1'000'000;
  const Boundary boundary(shape);
  const double share = boundary.total() / static_cast<double>(count), size = shape.bounds().diagonal();
  Point normal{};
  double flux = 0, farthest = 0;
  const Point c = shape.bounds().center();
  for_boundary(boundary, count, [&](const SurfacePoint& p) {
    normal = normal + share * p.normal;
    flux += share * dot(p.position - c, p.normal);
    farthest = std::max(farthest, std::abs(shape.signed_distance(p.position)));
  });
  const Measure m = measure(shape, 2'000'000);
  EXPECT_LT(farthest, 1e-12 * size);
  EXPECT_LT(length(normal), 2e-4 * boundary.total());
  EXPECT_NEAR(flux / shape.dimension(), m.value, m.error + 5e-4 * m.value);
}

}  // namespace
}  // namespace lather::geometry
