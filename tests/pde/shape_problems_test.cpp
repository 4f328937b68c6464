// Problem files with shapes: what is read, where points are, what they know, and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/pde/sampling/region.hpp"

namespace lather::pde {
namespace {

const std::string kPlate = R"T(name = "plate"
coordinates = ["x", "y", "t"]
fields = ["u"]
[parameters]
R = 0.25
[shape]
plate = "rectangle([0, 0], [2, 1])"
hole = "disk([0.5, 0.5], R)"
domain = "plate - hole"
[domain]
t = [0, 3]
[[equation]]
name = "heat"
residual = "u_t - u_xx - u_yy"
)T";

std::string condition(const std::string& where, const std::string& residual = "u",
                      const std::string& weight = "1") {
  return "[[condition]]\nname = \"c\"\nwhere = " + where + "\nresidual = \"" + residual +
         "\"\nweight = " + weight + "\n";
}

Problem read(const std::string& text) { return read_problem_text(text, "test.toml"); }

Points drawn(const Problem& problem, const std::string& set, std::size_t count,
             SamplingMethod method = SamplingMethod::sobol) {
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s) {
    const PointSet& p = problem.point_sets[s];
    if (p.name != set) continue;
    Points points;
    for (const auto& piece : p.pieces)
      append(points, points_in(problem.domain, piece, method, count, 3, 5, 0, p.columns));
    return points;
  }
  throw Error("no set " + set);
}

std::string shape_error(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ShapeProblems, CountTheirBoundaryWhereThingsAreShownAndNotWhereTheyAreMeasured) {
  const Problem problem = read(kPlate + condition("\"t = 0\""));
  const Points points{{{1.5, 0, 0.5, 0.5, 2.1}, {0.5, 0.5, 0.75, 0.5, 0.5}, {0, 0, 0, 0, 0}}, {}};
  EXPECT_EQ(inside_domain(problem.geometry.get(), points), (std::vector<char>{1, 0, 0, 0, 0}));
  EXPECT_EQ(in_closed_domain(problem.geometry.get(), points), (std::vector<char>{1, 1, 1, 0, 0}));
  EXPECT_EQ(in_closed_domain(nullptr, points), std::vector<char>(5, 1));
}

TEST(ShapeProblems, TakeTheBoxFromTheShapeAndTheInteriorFromItsInside) {
  const Problem problem = read(kPlate);
  EXPECT_EQ(problem.domain[0].high, 2);
  EXPECT_EQ(problem.domain[1].high, 1);
  EXPECT_EQ(problem.domain[2].high, 3);
  for (const auto method : {SamplingMethod::uniform, SamplingMethod::latin_hypercube, SamplingMethod::sobol,
                            SamplingMethod::sobol_plain, SamplingMethod::grid}) {
    const Points points = drawn(problem, "interior", 1000, method);
    if (method == SamplingMethod::grid)
      EXPECT_GT(points.count(), 600u);
    else
      EXPECT_EQ(points.count(), 1000u);
    std::size_t left = 0;
    for (std::size_t i = 0; i < points.count(); ++i) {
      const double x = points.coordinates[0][i], y = points.coordinates[1][i];
      EXPECT_GT(std::hypot(x - 0.5, y - 0.5), 0.25);
      left += x < 1;
    }
    // Uniform by area: the left half lacks the hole.
    const double hole = 3.14159 * 0.0625, share = (1 - hole) / (2 - hole);
    EXPECT_NEAR(static_cast<double>(left) / static_cast<double>(points.count()), share, 0.05);
  }
}

TEST(ShapeProblems, DrawTheSamePointsWhateverTheNumberOfThreads) {
  const Problem problem =
      read(kPlate + condition("\"boundary\"", "normal_x*u_x + normal_y*u_y", "\"1 + sdf\""));
  PointOptions options;
  options.points = {{"interior", 300}, {"c", 100}};
  options.sampling.method = SamplingMethod::adaptive;
  options.sampling.every = 1;
  std::vector<Points> seen;
  for (const int threads : {1, 2}) {
    PinnObjective objective(problem, {.threads = threads});
    const auto x = objective.initialize(1);
    PointSource source(problem, sampling_settings(options, problem), 1);
    for (int step = 0; step < 2; ++step) source.update(step, objective, x);
    seen.push_back(objective.points(0));
    seen.push_back(objective.points(1));
  }
  for (int set = 0; set < 2; ++set) {
    EXPECT_EQ(seen[set].coordinates, seen[set + 2].coordinates);
    EXPECT_EQ(seen[set].columns, seen[set + 2].columns);
  }
}

TEST(ShapeProblems, GiveNormalsOutOfTheDomain) {
  const Problem problem =
      read(kPlate + condition("\"boundary of hole\"", "normal_x*u_x + normal_y*u_y + sdf + arc"));
  const PointSet& set = problem.point_sets[1];
  EXPECT_EQ(set.columns, (std::vector<std::string>{"sdf", "arc", "normal_x", "normal_y"}));
  const Points points = drawn(problem, "c", 200);
  ASSERT_EQ(points.columns.size(), 4u);
  for (std::size_t i = 0; i < points.count(); ++i) {
    const double x = points.coordinates[0][i] - 0.5, y = points.coordinates[1][i] - 0.5;
    EXPECT_NEAR(std::hypot(x, y), 0.25, 1e-14);
    EXPECT_NEAR(points.columns[2][i], -x / 0.25, 1e-12);  // into the hole
    EXPECT_NEAR(points.columns[3][i], -y / 0.25, 1e-12);
    EXPECT_NEAR(points.columns[0][i], 0, 1e-14);
    EXPECT_GE(points.columns[1][i], 0);
    EXPECT_LE(points.columns[1][i], 2 * 3.1416 * 0.25);
  }
}

TEST(ShapeProblems, UnderstandWhere) {
  struct Case {
    std::string where;
    bool (*holds)(double x, double y, double t);
  };
  const auto on_plate = [](double x, double y) { return x == 0 || x == 2 || y == 0 || y == 1; };
  (void)on_plate;
  const Case cases[] = {
      {"\"t = 0\"", [](double, double, double t) { return t == 0; }},
      {"\"x = 0\"", [](double x, double, double) { return x == 0; }},
      {"\"x = 0 and y > 0.5\"", [](double x, double y, double) { return x == 0 && y > 0.5; }},
      {"\"x = 0.5\"", [](double x, double y, double) { return x == 0.5 && std::abs(y - 0.5) >= 0.2499; }},
      {"\"boundary and x > 1\"",
       [](double x, double y, double) { return x > 1 && (x == 2 || y == 0 || y == 1); }},
      {"\"sdf = 0 and not x = 0\"", [](double x, double, double) { return x > 1e-9; }},
      {"\"boundary of plate and not (x = 0 or x = 2)\"",
       [](double x, double y, double) { return x > 0 && x < 2 && (y == 0 || y == 1); }},
      {"\"boundary of hole and t = 0\"",
       [](double x, double y, double t) {
         return t == 0 && std::abs(std::hypot(x - 0.5, y - 0.5) - 0.25) < 1e-12;
       }},
      {"\"boundary of hole or x = 2\"",
       [](double x, double y, double) {
         return x == 2 || std::abs(std::hypot(x - 0.5, y - 0.5) - 0.25) < 1e-12;
       }},
      {"\"sdf < 0.1 and x >= 1\"",
       [](double x, double y, double) {
         return x >= 1 && std::min({2 - x, y, 1 - y}) < 0.1;
       }},
      {"[\"x = 0\", \"x = 2\"]", [](double x, double, double) { return x == 0 || x == 2; }},
  };
  for (const auto& c : cases) {
    const Problem problem = read(kPlate + condition(c.where));
    const Points points = drawn(problem, "c", 100);
    EXPECT_GE(points.count(), 100u);
    for (std::size_t i = 0; i < points.count(); ++i) {
      const double x = points.coordinates[0][i], y = points.coordinates[1][i], t = points.coordinates[2][i];
      EXPECT_TRUE(c.holds(x, y, t)) << c.where << ": " << x << ", " << y << ", " << t;
      EXPECT_GE(problem.geometry->domain->signed_distance({x, y}), -1e-9);
    }
  }
}

TEST(ShapeProblems, RestrictEquationsToPartsAndWeighTerms) {
  const Problem problem =
      read(kPlate +
           "[[equation]]\nname = \"source\"\nwhere = \"x > 1 and y < 0.5\"\nresidual = \"u_xx + 1\"\n"
           "weight = \"sdf^2\"\n");
  ASSERT_EQ(problem.point_sets.size(), 2u);
  EXPECT_EQ(problem.point_sets[1].name, "source");
  EXPECT_EQ(problem.point_sets[1].kind, PointSet::Kind::interior);
  const Points points = drawn(problem, "source", 200);
  for (std::size_t i = 0; i < points.count(); ++i) {
    const double x = points.coordinates[0][i], y = points.coordinates[1][i];
    EXPECT_TRUE(x > 1 && y < 0.5);
    EXPECT_DOUBLE_EQ(points.columns[0][i], problem.geometry->domain->signed_distance({x, y}));
  }
}

TEST(ShapeProblems, KnowNormalsOnBoxes) {
  const std::string box = R"T(name = "box"
coordinates = ["x", "y"]
fields = ["u"]
[domain]
x = [0, 2]
y = [0, 1]
[[equation]]
name = "poisson"
residual = "u_xx + u_yy"
)T";
  for (const std::string where : {"[\"x = 0\", \"x = 2\", \"y = 0\", \"y = 1\"]", "\"boundary\""}) {
    const Problem problem = read(box + condition(where, "normal_x*u_x + normal_y*u_y"));
    EXPECT_EQ(problem.geometry, nullptr);
    const Points points = drawn(problem, "c", 50);
    for (std::size_t i = 0; i < points.count(); ++i) {
      const double x = points.coordinates[0][i], y = points.coordinates[1][i];
      EXPECT_NEAR(points.columns[0][i], x == 0 ? -1 : x == 2 ? 1 : 0, 1e-9);
      EXPECT_NEAR(points.columns[1][i], y == 0 ? -1 : y == 1 ? 1 : 0, 1e-9);
    }
  }
  // Without normals nothing changes: plain faces, as before.
  EXPECT_EQ(read(box + condition("\"x = 0\"")).point_sets[1].pieces[0].region, nullptr);
}

TEST(ShapeProblems, BuildDistancesIntoTheAnsatz) {
  const std::string hard = R"T([ansatz]
outputs = ["N"]
u = "distance(domain)*N + distance(hole)"
)T";
  const Problem problem = read(kPlate + hard);
  PinnObjective objective(problem, {.threads = 1});
  const auto x = objective.initialize(1);
  Points points;
  points.coordinates = {{0, 1.3, 2, 0.75, 1}, {0.3, 1, 0.6, 0.5, 0.5}, {1, 1, 1, 1, 1}};
  const std::vector<symbolic::Expr> u{problem.fields[0].value};
  const auto values = objective.evaluate(x, u, points)[0];
  // On the boundary only distance(hole) is left; it is positive outside the hole.
  const auto to_hole = [](double x, double y) {
    return (std::pow(std::hypot(x - 0.5, y - 0.5), 2) - 0.0625) / 0.5;
  };
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(values[i], to_hole(points.coordinates[0][i], points.coordinates[1][i]), 1e-12);
  EXPECT_GT(std::abs(values[4] - to_hole(1, 0.5)), 1e-6);
}

TEST(ShapeProblems, AreRefusedInWordsThatLead) {
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const auto replaced = [](const std::string& from, const std::string& to) {
    std::string text = kPlate;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::pair<std::string, std::string> cases[] = {
      {replaced("disk([0.5, 0.5], R)", "disc([0.5, 0.5], R)"), "did you mean 'disk'"},
      {replaced("disk([0.5, 0.5], R)", "disk([0.5], R)"), "test.toml:8:14: expected 2 numbers in brackets"},
      {replaced("disk([0.5, 0.5], R)", "disk([0.5, 0.5], -R)"), "the radius must be a positive number"},
      {replaced("disk([0.5, 0.5], R)", "disk([0.5, 0.5])"), "write disk([x, y], radius)"},
      {replaced("disk([0.5, 0.5], R)", "ball([0, 0, 0], R)"), "a shape of 3 dimensions"},
      {replaced("plate - hole", "plate - hoel"), "did you mean 'hole'"},
      {replaced("plate - hole", "~hole"), "must be bounded"},
      {replaced("plate - hole", "domain & hole"), "is made of itself"},
      {replaced("t = [0, 3]", "t = [0, 3]\nx = [0, 1]"), "leave 'x' out of [domain]"},
      {kPlate + condition("\"boundary of whole\""), "unknown shape 'whole'"},
      {kPlate + condition("\"hole\""), "boundary of NAME"},
      {kPlate + condition("\"boundary and boundary of hole\""), "join them by 'or'"},
      {kPlate + condition("\"boundary and x > 5\""), "holds nowhere"},
      {kPlate + condition("\"x > u\""), "may depend on coordinates"},
      {kPlate + condition("\"0 < x < 1\""), "one comparison at a time"},
      {kPlate + condition("\"x = 0\"", "u", "\"u^2\""), "a weight may depend on"},
      {kPlate + condition("\"x = 0\"", "u*arc"), "length along a boundary"},
      {replaced("plate - hole", "repeat(plate, [1, 0], 2.7)"), "a whole number in [1, 1000], not 2.7"},
      {replaced("plate - hole", "repeat(plate, [1, 0], 3e9)"), "a whole number in [1, 1000], not 3000000000"},
      {kPlate + "[map]\nX = \"2*x\"\n", "[map] and [shape]"},
      {kPlate + "[[equation]]\nname = \"e\"\nwhere = \"x = 1\"\nresidual = \"u\"\n", "part of the interior"},
      {replaced("disk([0.5, 0.5], R)", "mesh('a.stl')"), "a shape of 3 dimensions"},
  };
  for (const auto& [text, fragment] : cases) {
    const std::string message = shape_error(text);
    EXPECT_TRUE(contains(message, fragment)) << message << "\nexpected: " << fragment;
  }
}

}  // namespace
}  // namespace lather::pde
