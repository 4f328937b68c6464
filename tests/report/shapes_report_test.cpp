// Shapes as they are drawn and exported.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lather/core/error.hpp"
#include "lather/geometry/outline.hpp"
#include "lather/geometry/primitives.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/report/draw/domain_picture.hpp"
#include "lather/report/draw/svg.hpp"
#include "lather/report/export/vtu.hpp"

namespace lather::report {
namespace {

TEST(Vtu, KeepsTheCellsWhoseCornersAreAllInside) {
  const std::vector<std::vector<double>> axes{{0, 1, 2}, {0, 10, 20}};
  std::vector<char> marked(9, 1);
  marked[8] = 0;  // (2, 20)
  std::vector<std::size_t> used;
  const auto grid = cells_inside(axes, marked, used);
  EXPECT_EQ(grid.corners.size(), 3u * 4);
  ASSERT_EQ(grid.points.size(), 8u);
  ASSERT_EQ(used.size(), 8u);
  for (std::size_t i = 0; i < used.size(); ++i) {
    EXPECT_NE(used[i], 8u);
    EXPECT_EQ(grid.points[i], (std::array<double, 3>{axes[0][used[i] / 3], axes[1][used[i] % 3], 0}));
  }
  // Around the first cell, one corner after the other.
  const auto corner = [&](int k) { return grid.points[static_cast<std::size_t>(grid.corners[k])]; };
  EXPECT_EQ(corner(0), (std::array<double, 3>{0, 0, 0}));
  EXPECT_EQ(corner(1), (std::array<double, 3>{1, 0, 0}));
  EXPECT_EQ(corner(2), (std::array<double, 3>{1, 10, 0}));
  EXPECT_EQ(corner(3), (std::array<double, 3>{0, 10, 0}));
  const std::vector<NamedArray> arrays{{"u", {8}, std::vector<double>(8, 1.5)}};
  const std::string text = encode_vtu(grid, arrays);
  EXPECT_NE(text.find("NumberOfPoints=\"8\" NumberOfCells=\"3\""), std::string::npos);
  EXPECT_NE(text.find("Name=\"u\""), std::string::npos);
  EXPECT_THROW(cells_inside({{0, 1}, {0, 1}, {0, 1}, {0, 1}}, std::vector<char>(16, 1), used), Error);
}

TEST(Vtu, OfABoxInSpaceHasHexahedra) {
  std::vector<std::size_t> used;
  const auto grid = cells_inside({{0, 1, 2}, {0, 1}, {0, 1}}, std::vector<char>(12, 1), used);
  EXPECT_EQ(grid.corners.size(), 2u * 8);
  EXPECT_EQ(grid.points.size(), 12u);
}

TEST(Outline, FollowsWhatIsLeftOfABoundary) {
  const auto shape = geometry::subtract(geometry::box(2, {0, 0}, {1, 1}), {geometry::ball(2, {1, 1}, 0.5)});
  double length = 0;
  for (const auto& line : geometry::outline(*shape))
    for (std::size_t i = 1; i < line.size(); ++i)
      length += std::hypot(line[i][0] - line[i - 1][0], line[i][1] - line[i - 1][1]);
  EXPECT_NEAR(length, 3 + 0.25 * 3.14159, 0.03);
  EXPECT_TRUE(geometry::outline(*geometry::ball(3, {}, 1)).empty());
}

// Outside a shape fields are not numbers: nothing may be painted there, not even the lowest colour.
TEST(Contours, LeaveGapsUnpainted) {
  const double gap = std::numeric_limits<double>::quiet_NaN();
  const auto colours = [](double share) {
    return share < 0.1 ? std::string("lowest") : std::string("other");
  };
  const Axis scale{0, 1};
  const auto drawn = [&](const std::vector<double>& values) {
    Svg svg(100, 100, "map");
    svg.contours({0, 0, 100, 100}, 3, values, scale, colours);
    return std::move(svg).finish();
  };
  const std::string whole = drawn({0, 0, 1, 0, 0, 1, 0, 0, 1}),
                    part = drawn({gap, 0, 1, gap, 0, 1, gap, 0, 1});
  EXPECT_NE(whole.find("<rect"), std::string::npos);
  EXPECT_NE(whole.find("width=\"100\" height=\"100\" fill=\"lowest\""), std::string::npos);
  EXPECT_EQ(part.find("width=\"100\" height=\"100\" fill=\"lowest\""), std::string::npos);
  EXPECT_NE(part.find("fill=\"lowest\""), std::string::npos);
}

TEST(DomainPicture, ShowsEveryPointSet) {
  const auto problem = pde::read_problem_text(R"T(name = "picture"
coordinates = ["x", "y"]
fields = ["u"]
[shape]
hole = "disk([0.5, 0.5], 0.2)"
domain = "rectangle([0, 0], [1, 1]) - hole"
[[equation]]
name = "poisson"
residual = "u_xx + u_yy + 1"
[[condition]]
name = "rim"
where = "boundary of hole"
residual = "u"
)T",
                                              "picture.toml");
  pde::Points points;
  points.coordinates = {{0.1, 0.2}, {0.3, 0.4}};
  const std::string svg = domain_picture(problem, {points, points});
  EXPECT_NE(svg.find("<svg"), std::string::npos);
  EXPECT_NE(svg.find("interior, 2 points"), std::string::npos);
  EXPECT_NE(svg.find("rim, 2 points"), std::string::npos);
}

}  // namespace
}  // namespace lather::report
