// Points: what every method promises, adaptive and focused sampling, data, and that a seed fixes them all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lather/core/error.hpp"
#include "lather/pde/problem_builder.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/pde/sampling/sobol.hpp"

namespace lather::pde {
namespace {

using Json = nlohmann::json;
using Coordinates = std::vector<std::vector<double>>;

// Largest difference, over anchored boxes with corners on a grid, between the fraction of points in a box and
// its area.
double grid_discrepancy(const Coordinates& u, int cells = 32) {
  double worst = 0;
  for (int a = 1; a <= cells; ++a)
    for (int b = 1; b <= cells; ++b) {
      const double x = static_cast<double>(a) / cells, y = static_cast<double>(b) / cells;
      std::size_t inside = 0;
      for (std::size_t i = 0; i < u[0].size(); ++i) inside += u[0][i] < x && u[1][i] < y;
      worst =
          std::max(worst, std::abs(static_cast<double>(inside) / static_cast<double>(u[0].size()) - x * y));
    }
  return worst;
}

TEST(Sobol, BeginsWithItsKnownPoints) {
  const double expected[8][3] = {{0, 0, 0},
                                 {0.5, 0.5, 0.5},
                                 {0.75, 0.25, 0.25},
                                 {0.25, 0.75, 0.75},
                                 {0.375, 0.375, 0.625},
                                 {0.875, 0.875, 0.125},
                                 {0.625, 0.125, 0.875},
                                 {0.125, 0.625, 0.375}};
  const auto u = unit_points(SamplingMethod::sobol_plain, 8, 3, 0, 0);
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < 3; ++k) EXPECT_EQ(u[k][i], expected[i][k]) << "point " << i << " coordinate " << k;
}

TEST(Sobol, HasOnePointInEveryStratumOfEveryCoordinate) {
  constexpr int n = 256;
  for (int k = 0; k < kSobolDimensions; ++k) {
    std::set<std::uint32_t> strata;
    for (std::uint32_t i = 0; i < n; ++i) strata.insert(sobol_bits(i, k) >> 24);
    EXPECT_EQ(strata.size(), n) << "dimension " << k;
  }
}

// The first two coordinates form a (0, m, 2)-net: every dyadic box of area 1/n holds exactly one point. A
// digital shift keeps that.
TEST(Sobol, FillsEveryDyadicBoxOfTheFirstTwoCoordinatesOnceAlsoWhenShifted) {
  constexpr int m = 8, n = 1 << m;
  for (const SamplingMethod method : {SamplingMethod::sobol_plain, SamplingMethod::sobol}) {
    const auto u = unit_points(method, n, 2, 7, 3);
    for (int split = 0; split <= m; ++split) {
      std::set<std::pair<int, int>> boxes;
      for (int i = 0; i < n; ++i)
        boxes.insert(
            {static_cast<int>(u[0][i] * (1 << split)), static_cast<int>(u[1][i] * (1 << (m - split)))});
      EXPECT_EQ(boxes.size(), n) << "2^" << split << " columns";
    }
  }
}

TEST(SamplingMethods, CoverTheSquareAsEvenlyAsTheyShould) {
  constexpr std::size_t n = 1024;
  // Independent points: the discrepancy is about 1/sqrt(n) = 0.03, and above 0.1 with probability below 1e-7.
  EXPECT_LT(grid_discrepancy(unit_points(SamplingMethod::uniform, n, 2, 1, 1)), 0.1);
  EXPECT_LT(grid_discrepancy(unit_points(SamplingMethod::latin_hypercube, n, 2, 1, 1)), 0.1);
  // A (0, 10, 2)-net in base 2: at most (10/2 + 3/2)/n < 0.007 (Niederreiter 1992, theorem 4.5); a shifted
  // one at most as much.
  EXPECT_LT(grid_discrepancy(unit_points(SamplingMethod::sobol_plain, n, 2, 1, 1)), 0.007);
  EXPECT_LT(grid_discrepancy(unit_points(SamplingMethod::sobol, n, 2, 1, 1)), 0.007);
}

TEST(SamplingMethods, LatinHypercubeHasOnePointPerStratumAndOrdersDiffer) {
  constexpr std::size_t n = 100;
  const auto u = unit_points(SamplingMethod::latin_hypercube, n, 3, 5, 1);
  for (const auto& c : u) {
    std::set<int> strata;
    for (const double v : c) strata.insert(static_cast<int>(v * n));
    EXPECT_EQ(strata.size(), n);
  }
  EXPECT_NE(u[0], u[1]);
}

TEST(SamplingMethods, GridTakesCellMidpointsAndNoMorePointsThanAsked) {
  const auto u = unit_points(SamplingMethod::grid, 13, 2, 0, 0);
  ASSERT_EQ(u[0].size(), 12u);  // 4 × 3
  EXPECT_EQ(std::set<double>(u[0].begin(), u[0].end()), (std::set<double>{0.125, 0.375, 0.625, 0.875}));
  EXPECT_EQ(std::set<double>(u[1].begin(), u[1].end()), (std::set<double>{0.5 / 3, 1.5 / 3, 2.5 / 3}));
}

TEST(SamplingMethods, StayInsideTheBoxAndOnThePiece) {
  const std::vector<Interval> box{{-1, 1}, {2, 5}};
  for (const SamplingMethod method : {SamplingMethod::uniform, SamplingMethod::latin_hypercube,
                                      SamplingMethod::sobol, SamplingMethod::grid}) {
    const Points p = points_in(box, {NAN, 5}, method, 50, 3, 4);
    EXPECT_EQ(p.count(), 50u);
    for (std::size_t i = 0; i < p.count(); ++i) {
      EXPECT_GT(p.coordinates[0][i], -1);
      EXPECT_LT(p.coordinates[0][i], 1);
      EXPECT_EQ(p.coordinates[1][i], 5);
    }
  }
}

TEST(AdaptiveChoice, FollowsTheFormula) {
  // |r|^1 / mean + c with mean = 2: 0.5 + 1, 1.5 + 1 of a total of 4
  const std::vector<double> r{1, -3};
  const auto chosen = adaptive_choice(r, 1, 1, 40000, Random(1, 2));
  const double share = static_cast<double>(std::count(chosen.begin(), chosen.end(), 1u)) / 40000;
  EXPECT_NEAR(share, 2.5 / 4, 0.0125);  // five standard deviations
  const auto sharp = adaptive_choice(r, 4, 0, 40000, Random(1, 2));
  EXPECT_NEAR(static_cast<double>(std::count(sharp.begin(), sharp.end(), 0u)) / 40000, 1.0 / 82, 0.003);
}

TEST(AdaptiveChoice, CopesWithZerosAndNaNs) {
  const std::vector<double> nothing{0, 0, 0, 0};
  const auto even = adaptive_choice(nothing, 1, 0, 4000, Random(1, 2));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::count(even.begin(), even.end(), i), 1000, 150);
  const std::vector<double> broken{NAN, 1, INFINITY};
  for (const std::size_t i : adaptive_choice(broken, 1, 0, 100, Random(1, 2))) EXPECT_EQ(i, 1u);
}

// Burgers-like, with data: interior, initial (one piece), walls (two pieces), observations.
Problem make_problem() {
  ProblemBuilder b("small");
  b.coordinate("x", -1, 1);
  b.coordinate("t", 0, 1);
  const auto u = b.field("u");
  b.equation("momentum", {b.parse("u_t + u*u_x - 0.01*u_xx"), b.parse("u_x - u")});
  b.condition("initial", {b.face({{"t", 0}})}, b.parse("u + sin(pi*x)"));
  b.condition("walls", {b.face({{"x", -1}}), b.face({{"x", 1}})}, u);
  b.begin_data({"value"});
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 10; ++i) rows.push_back({-0.9 + 0.2 * i, 0.5, 10.0 * i});
  b.data("observed", {"value"}, rows, {b.parse("u - value")});
  b.problem().network.width = 8;
  b.problem().network.depth = 2;
  return b.build();
}

PointOptions points_of(const Json& recipe) { return options::from_json<PointOptions>("training", recipe); }

int set_named(const Problem& p, const std::string& name) {
  for (std::size_t s = 0; s < p.point_sets.size(); ++s)
    if (p.point_sets[s].name == name) return static_cast<int>(s);
  return -1;
}

struct Sampled {
  Problem problem = make_problem();
  PinnObjective objective;
  std::vector<double> x;
  PointSource source;
  explicit Sampled(const Json& recipe, int threads = 1, std::uint64_t seed = 3)
      : objective(problem, {.threads = threads}),
        x(objective.initialize(1)),
        source(problem, sampling_settings(points_of(recipe), problem), seed) {}
  bool update(std::int64_t step) { return source.update(step, objective, x); }
  const Points& points(const std::string& name) { return objective.points(set_named(problem, name)); }
};

const Json kCounts = {{"interior", 200}, {"initial", 21}, {"walls", 15}};

TEST(PointSource, GivesEveryPieceItsShareAndKeepsDataAsTheyAre) {
  Sampled run(Json::object({{"points", kCounts}}));
  EXPECT_TRUE(run.update(0));
  EXPECT_EQ(run.points("interior").count(), 200u);
  EXPECT_EQ(run.points("initial").count(), 21u);
  for (const double t : run.points("initial").coordinates[1]) EXPECT_EQ(t, 0);
  const auto& walls = run.points("walls").coordinates[0];
  EXPECT_EQ(std::count(walls.begin(), walls.end(), -1.0), 7);
  EXPECT_EQ(std::count(walls.begin(), walls.end(), 1.0), 8);
  EXPECT_EQ(run.points("observed").columns[0][3], 30);
  EXPECT_FALSE(run.update(1));
  EXPECT_EQ(run.source.next_change(0), kNever);
}

TEST(PointSource, DrawsNewPointsWhenDue) {
  for (const char* method : {"uniform", "latin-hypercube", "sobol"}) {
    Sampled run({{"points", kCounts}, {"sampling", {{"method", method}, {"every", 10}}}});
    run.update(0);
    const auto before = run.points("interior").coordinates;
    for (int step = 1; step < 10; ++step) EXPECT_FALSE(run.update(step));
    EXPECT_EQ(run.points("interior").coordinates, before);
    EXPECT_TRUE(run.update(10)) << method;
    EXPECT_NE(run.points("interior").coordinates, before) << method;
  }
}

TEST(PointSource, KeepsItsPointsFromTheLastDrawOn) {
  for (const char* method : {"sobol", "adaptive"}) {
    Sampled run({{"points", kCounts}, {"sampling", {{"method", method}, {"every", 10}, {"until", 25}}}});
    std::vector<int> draws;
    for (int step = 0; step < 60; ++step)
      if (run.update(step)) draws.push_back(step);
    EXPECT_EQ(draws, (std::vector<int>{0, 10, 20})) << method;
    EXPECT_EQ(run.source.next_change(12), 20);
    EXPECT_EQ(run.source.next_change(20), kNever);
  }
}

TEST(PointSource, GivesTheSamePointsForAnyNumberOfThreadsAndOthersForAnotherSeed) {
  const Json recipe{{"points", kCounts}, {"sampling", {{"method", "adaptive"}, {"every", 5}}}};
  Sampled one(recipe, 1), three(recipe, 3), other(recipe, 1, 4);
  for (Sampled* run : {&one, &three, &other}) {
    run->update(0);
    run->update(5);
  }
  for (const char* name : {"interior", "initial", "walls"}) {
    EXPECT_EQ(one.points(name).coordinates, three.points(name).coordinates) << name;
    EXPECT_NE(one.points(name).coordinates, other.points(name).coordinates) << name;
  }
}

TEST(PointSource, FocusPutsTheGivenShareIntoABoxAndItsPlainRestEverywhere) {
  Sampled run(
      {{"points", {{"interior", 1000}}},
       {"focus",
        Json::parse(
            R"([{"share": 0.5, "x": [0.9, 1], "t": [0, 0.1]}, {"share": 0.25, "method": "grid", "x": [-1, 0]}])")}});
  run.update(0);
  const auto& p = run.points("interior");
  std::size_t corner = 0, left = 0;
  for (std::size_t i = 0; i < p.count(); ++i) {
    corner += p.coordinates[0][i] > 0.9 && p.coordinates[1][i] < 0.1;
    left += p.coordinates[0][i] < 0;
  }
  EXPECT_NEAR(static_cast<double>(corner), 500 + 250 * 0.005, 3);
  EXPECT_NEAR(static_cast<double>(left), 240 + 125, 15);  // the grid takes 15 × 16 of its 250
}

TEST(PointSource, FocusOnABoundaryIsSharedAmongItsPiecesAndLeavesTheInteriorAlone) {
  const Json counts{{"interior", 100}, {"initial", 200}, {"walls", 80}};
  Sampled plain(Json{{"points", counts}});
  Sampled run(
      {{"points", counts}, {"focus", Json::parse(R"([{"share": 0.3, "points": "initial", "x": [0.9, 1]},
                                         {"share": 0.5, "points": "walls", "t": [0, 0.01]}])")}});
  plain.update(0);
  run.update(0);
  EXPECT_EQ(run.points("interior").coordinates, plain.points("interior").coordinates);
  const auto& initial = run.points("initial").coordinates;
  ASSERT_EQ(initial[0].size(), 200u);
  EXPECT_NEAR(static_cast<double>(
                  std::count_if(initial[0].begin(), initial[0].end(), [](double x) { return x > 0.9; })),
              60 + 140 * 0.05, 2);
  for (const double t : initial[1]) EXPECT_EQ(t, 0);
  const auto& walls = run.points("walls").coordinates;
  ASSERT_EQ(walls[0].size(), 80u);
  int early[2] = {0, 0};
  for (std::size_t i = 0; i < 80; ++i)
    if (walls[1][i] < 0.01) ++early[walls[0][i] > 0];
  EXPECT_NEAR(early[0], 20, 1);
  EXPECT_NEAR(early[1], 20, 1);
}

TEST(PointSource, AdaptivePointsGatherWhereTheResidualIsLarge) {
  ProblemBuilder b("peak");
  b.coordinate("x", 0, 1);
  b.coordinate("y", 0, 1);
  const auto u = b.field("u");
  // The network starts small; the residual is the planted peak at (0.2, 0.7), 1e-3 of it elsewhere.
  b.equation("peak", 1e-3 * u + b.parse("exp(-((x - 0.2)^2 + (y - 0.7)^2)/0.005)"));
  b.problem().network.width = 4;
  const Problem problem = b.build();
  PinnObjective objective(problem, {.threads = 1});
  const auto x = objective.initialize(1);
  const auto near_peak = [&](const Json& sampling) {
    PointSource source(
        problem,
        sampling_settings(points_of({{"points", {{"interior", 1000}}}, {"sampling", sampling}}), problem), 1);
    source.update(0, objective, x);
    source.update(1, objective, x);
    std::size_t near = 0;
    const auto& p = objective.points(0);
    for (std::size_t i = 0; i < p.count(); ++i)
      near += std::hypot(p.coordinates[0][i] - 0.2, p.coordinates[1][i] - 0.7) < 0.15;
    return static_cast<double>(near) / static_cast<double>(p.count());
  };
  EXPECT_NEAR(near_peak({{"method", "sobol"}, {"every", 1}}), 0.0707, 0.02);  // the area of the disc
  EXPECT_GT(near_peak({{"method", "adaptive"}, {"every", 1}, {"floor", 0}}), 0.9);
  // Half uniform: with floor 1 the peak and the flat part count equally.
  const double half = near_peak({{"method", "adaptive"}, {"every", 1}});
  EXPECT_GT(half, 0.45);
  EXPECT_LT(half, 0.62);
}

TEST(PointSource, BatchesOfDataVisitEveryRowOncePerPass) {
  Sampled run(Json::object({{"sampling", {{"data_batch", 4}, {"data_validation", 0}}}}));
  std::multiset<double> seen;
  for (int step = 0; step < 5; ++step) {  // two passes of ten rows
    EXPECT_TRUE(run.update(step));
    const auto& p = run.points("observed");
    ASSERT_EQ(p.count(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      seen.insert(p.columns[0][i]);
      EXPECT_NEAR(p.coordinates[0][i], -0.9 + 0.02 * p.columns[0][i], 1e-12);
    }
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(seen.count(10.0 * i), 2u);
}

TEST(PointSource, HoldsOutAShareOfTheRowsOfData) {
  std::set<std::multiset<double>> choices;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sampled run(Json::object({{"sampling", {{"data_validation", 0.35}}}}), 1, seed);  // 3.5 of 10 rows
    run.update(0);
    const int set = set_named(run.problem, "observed");
    const auto& trained_on = run.points("observed").columns[0];
    const auto held_out = run.source.validation(set).columns[0];
    EXPECT_EQ(run.source.held_out_rows(set), 3u);
    ASSERT_EQ(held_out.size(), 3u);
    std::multiset<double> all(trained_on.begin(), trained_on.end());
    all.insert(held_out.begin(), held_out.end());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(all.count(10.0 * i), 1u);
    choices.emplace(held_out.begin(), held_out.end());
  }
  EXPECT_GT(choices.size(), 10u) << "other seeds hold out other rows";
  Sampled few(Json::object({{"sampling", {{"data_validation", 0.09}}}}));
  EXPECT_EQ(few.source.held_out_rows(set_named(few.problem, "observed")), 0u);
  EXPECT_EQ(few.source.validation(set_named(few.problem, "observed")).count(), 10u);
}

TEST(PointSource, HeldOutPointsAreNotTrainedOn) {
  Sampled run({{"points", kCounts}, {"sampling", {{"every", 1}, {"validation", 300}}}});
  const int interior = set_named(run.problem, "interior");
  const Points held_out = run.source.validation(interior);
  EXPECT_EQ(held_out.count(), 300u);
  const std::set<double> trained_on = [&] {
    std::set<double> all;
    for (int step = 0; step < 20; ++step) {
      run.update(step);
      all.insert(run.points("interior").coordinates[0].begin(), run.points("interior").coordinates[0].end());
    }
    return all;
  }();
  for (const double v : held_out.coordinates[0]) EXPECT_FALSE(trained_on.contains(v));
  EXPECT_EQ(run.source.validation(interior).coordinates, held_out.coordinates);
}

TEST(PointSource, GoesOnFromASavedStateBitForBit) {
  const Json recipe{{"points", kCounts},
                    {"sampling", {{"method", "adaptive"}, {"every", 4}, {"data_batch", 3}}}};
  Sampled whole(recipe), first(recipe), second(recipe);
  for (int step = 0; step < 7; ++step) {
    whole.update(step);
    first.update(step);
  }
  StateWriter writer;
  first.source.state(writer);
  StateReader reader(writer.bytes());
  second.source.state(reader);
  EXPECT_TRUE(reader.at_end());
  for (int step = 7; step < 10; ++step) {
    EXPECT_EQ(second.update(step), whole.update(step)) << step;
    for (const char* name : {"interior", "initial", "walls", "observed"}) {
      EXPECT_EQ(whole.points(name).coordinates, second.points(name).coordinates)
          << name << " at step " << step;
      EXPECT_EQ(whole.points(name).columns, second.points(name).columns);
    }
  }
}

std::string error_of(const Json& recipe) {
  try {
    sampling_settings(points_of(recipe), make_problem());
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(SamplingSettings, SayWhatIsWrong) {
  EXPECT_NE(error_of({{"points", {{"interor", 5}}}}).find("did you mean 'interior'"), std::string::npos);
  EXPECT_NE(error_of({{"points", {{"interior", 0}}}}).find("points.interior"), std::string::npos);
  EXPECT_NE(error_of({{"points", {{"walls", 1}}}}).find("too few for 2 pieces"), std::string::npos);
  EXPECT_NE(error_of({{"sampling", "sobel"}}).find("sobol"), std::string::npos);
  EXPECT_NE(error_of({{"sampling", {{"evry", 5}}}}).find("every"), std::string::npos);
  EXPECT_NE(error_of({{"focus", Json::parse(R"([{"share": 0.5, "z": [0, 1]}])")}}).find("key"),
            std::string::npos);
  EXPECT_NE(error_of({{"focus", Json::parse(R"([{"share": 0.5, "x": [3, 4]}])")}}).find("outside the domain"),
            std::string::npos);
  EXPECT_NE(error_of({{"focus", Json::parse(R"([{"share": 0.7}, {"share": 0.7}])")}}).find("more than 1"),
            std::string::npos);
  EXPECT_EQ(error_of({{"focus", Json::parse(R"([{"share": 0.7}, {"share": 0.7, "points": "walls"}])")}}), "");
  EXPECT_NE(error_of({{"focus", Json::parse(R"([{"share": 0.7, "points": "walls", "x": [-0.5, 0.5]}])")}})
                .find("no part of 'walls' lies in the box"),
            std::string::npos);
  EXPECT_NE(error_of({{"focus", Json::parse(R"([{"share": 0.5, "points": "wals"}])")}})
                .find("did you mean 'walls'"),
            std::string::npos);
}

TEST(SamplingSettings, HaveDefaultsForEverySet) {
  const auto settings = sampling_settings({}, make_problem());
  const Problem p = make_problem();
  EXPECT_EQ(settings.counts[set_named(p, "interior")], kInteriorPoints);
  EXPECT_EQ(settings.counts[set_named(p, "walls")], 2 * kBoundaryPoints);
}

}  // namespace
}  // namespace lather::pde
