#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/optim/catalogue.hpp"
#include "lather/pde/objective.hpp"
#include "optim/from_json.hpp"
#include "sample_problems.hpp"

namespace lather::pde {
namespace {

using namespace test;
using optim::KroneckerFactors;
using Sharing = KroneckerFactors::Sharing;

class FactorsOfEveryNetwork : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, FactorsOfEveryNetwork, testing::ValuesIn(networks()),
                         [](const auto& info) { return info.param.name; });

// One point and no derivatives: inputs and signals do not vary, so A (x) B is the block of J^T J itself. Two
// terms at the point share their inputs.
TEST_P(FactorsOfEveryNetwork, AreExactForOneSample) {
  const auto problem = make_problem(derivative_sets()[0], GetParam().network);
  PinnObjective objective(problem, {.threads = 1});
  auto x = objective.initialize(3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.2 * Random(6, 6).normal(i);
  objective.set_points(0, random_points(2, 1, 4));
  const std::size_t n = objective.size();
  std::vector<double> JtJ(n * n), Jtr(n);
  objective.normal_equations(x, JtJ.data(), Jtr);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) JtJ[j * n + i] = JtJ[i * n + j];
  const auto& blocks = objective.layout().blocks();
  for (const Sharing sharing : {Sharing::expand, Sharing::reduce}) {
    const auto factors = objective.kronecker_factors(x, sharing);
    ASSERT_FALSE(factors.layers.empty());
    std::vector<bool> in_layer(n);
    for (const auto& layer : factors.layers) {
      ASSERT_EQ(layer.groups.size(), 1u);
      const auto& weight = blocks[layer.weight];
      const std::size_t rows = weight.rows + (layer.bias >= 0), cols = weight.cols;
      const auto parameter = [&](std::size_t i, std::size_t j) {
        return i < weight.rows ? weight.offset + i * cols + j : blocks[layer.bias].offset + j;
      };
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < cols; ++j) {
          in_layer[parameter(i, j)] = true;
          for (std::size_t k = 0; k < rows; ++k)
            for (std::size_t l = 0; l < cols; ++l)
              ASSERT_NEAR(layer.groups[0].A[i * rows + k] * layer.groups[0].B[j * cols + l],
                          JtJ[parameter(i, j) * n + parameter(k, l)], 1e-13)
                  << weight.name;
        }
    }
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(factors.diagonal[i], in_layer[i] ? 0 : JtJ[i * n + i], 1e-13) << i;
  }
}

TEST_P(FactorsOfEveryNetwork, GiveTheDiagonalOfParametersInNoLayer) {
  auto problem = make_problem(derivative_sets()[2], GetParam().network);
  PinnObjective objective(problem, {.threads = 2});
  auto x = objective.initialize(3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.2 * Random(6, 6).normal(i);
  objective.set_points(0, random_points(2, 61, 4));
  const std::size_t n = objective.size();
  std::vector<double> JtJ(n * n), Jtr(n);
  objective.normal_equations(x, JtJ.data(), Jtr);
  const auto factors = objective.kronecker_factors(x, Sharing::expand);
  EXPECT_GT(factors.diagonal.back(), 0);  // the unknown
  for (std::size_t i = 0; i < n; ++i)
    if (factors.diagonal[i] != 0) {
      EXPECT_NEAR(factors.diagonal[i], JtJ[i * n + i], 1e-12 * JtJ[i * n + i]);
    }
}

// u = tanh(x W + b) V + c on two inputs, residual u_x inside and u - 0.3 on a second set: everything by hand.
TEST(KroneckerFactors, EqualABruteForceComputationOnATinyNetwork) {
  constexpr std::size_t kWidth = 3, kInside = 40, kWall = 7;
  Problem p;
  p.symbols = std::make_shared<OutputSymbols>(*p.graph, std::vector<std::string>{"x", "y"},
                                              std::vector<std::string>{"N"});
  for (int i = 0; i < 2; ++i) {
    p.domain.push_back({-1, 1});
    p.network_inputs.push_back(p.symbols->coordinate(i));
  }
  p.network = {.width = kWidth, .depth = 1};
  p.point_sets = {{"interior", PointSet::Kind::interior, {}, {}, {}},
                  {"wall", PointSet::Kind::boundary, {}, {}, {}}};
  p.terms = {{"slope", 0, p.symbols->output(0, index_of({1, 0, 0})), 2.0},
             {"wall", 1, p.symbols->output(0) - 0.3, 5.0}};
  PinnObjective objective(p, {.threads = 2, .tile_rows = 16});
  auto x = objective.initialize(1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.3 * Random(2, 2).normal(i);
  objective.set_points(0, random_points(2, kInside, 4));
  objective.set_points(1, random_points(2, kWall, 5));
  const auto& blocks = objective.layout().blocks();
  ASSERT_EQ(blocks.size(), 4u);  // W, b, V, c
  const double *W = &x[blocks[0].offset], *b = &x[blocks[1].offset], *V = &x[blocks[2].offset];

  using Row = std::vector<double>;
  struct Rows {
    std::vector<std::vector<Row>> a, z;  // [point][component]
  };
  Rows expected[2][2];  // [layer][group]
  for (const int group : {0, 1}) {
    const auto& points = objective.points(group).coordinates;
    const double s = std::sqrt((group == 0 ? 2.0 : 5.0) / static_cast<double>(points[0].size()));
    for (std::size_t q = 0; q < points[0].size(); ++q) {
      Row h(kWidth), h_x(kWidth), z(kWidth), z_x(kWidth), z_value(kWidth);
      for (std::size_t k = 0; k < kWidth; ++k) {
        h[k] = std::tanh(points[0][q] * W[k] + points[1][q] * W[kWidth + k] + b[k]);
        const double slope = 1 - h[k] * h[k];
        h_x[k] = slope * W[k];
        z_value[k] = s * V[k] * slope;               // of r = u
        z[k] = s * V[k] * -2 * h[k] * slope * W[k];  // of r = u_x, by the value of the first layer
        z_x[k] = s * V[k] * slope;                   // and by its derivative
      }
      const auto with = [](Row row, double last) {
        row.push_back(last);
        return row;
      };
      if (group == 0) {
        expected[0][0].a.push_back({{points[0][q], points[1][q], 1}, {1, 0, 0}});
        expected[0][0].z.push_back({z, z_x});
        expected[1][0].a.push_back({with(h, 1), with(h_x, 0)});
        expected[1][0].z.push_back({{0}, {s}});
      } else {
        expected[0][1].a.push_back({{points[0][q], points[1][q], 1}});
        expected[0][1].z.push_back({z_value});
        expected[1][1].a.push_back({with(h, 1)});
        expected[1][1].z.push_back({{s}});
      }
    }
  }

  for (const Sharing sharing : {Sharing::expand, Sharing::reduce}) {
    const auto factors = objective.kronecker_factors(x, sharing);
    ASSERT_EQ(factors.layers.size(), 2u);
    for (std::size_t l = 0; l < 2; ++l) {
      EXPECT_EQ(factors.layers[l].weight, 2 * l);
      EXPECT_EQ(factors.layers[l].bias, static_cast<std::ptrdiff_t>(2 * l + 1));
      ASSERT_EQ(factors.layers[l].groups.size(), 2u);
      for (std::size_t g = 0; g < 2; ++g) {
        auto rows = expected[l][g];
        if (sharing == Sharing::reduce)
          for (auto* list : {&rows.a, &rows.z})
            for (auto& components : *list) {
              Row sum(components[0].size());
              for (const auto& row : components)
                for (std::size_t i = 0; i < row.size(); ++i)
                  sum[i] += row[i] / (list == &rows.a ? static_cast<double>(components.size()) : 1);
              components = {sum};
            }
        const auto gram = [](const std::vector<std::vector<Row>>& list, bool mean) {
          const std::size_t n = list[0][0].size();
          const double count = static_cast<double>(list.size() * list[0].size());
          Row result(n * n);
          for (const auto& components : list)
            for (const auto& row : components)
              for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j) result[i * n + j] += row[i] * row[j] / (mean ? count : 1);
          return result;
        };
        const auto A = gram(rows.a, true), B = gram(rows.z, false);
        const auto& pair = factors.layers[l].groups[g];
        ASSERT_EQ(pair.A.size(), A.size());
        ASSERT_EQ(pair.B.size(), B.size());
        for (std::size_t i = 0; i < A.size(); ++i)
          EXPECT_NEAR(pair.A[i], A[i], 1e-14) << "layer " << l << " group " << g;
        for (std::size_t i = 0; i < B.size(); ++i)
          EXPECT_NEAR(pair.B[i], B[i], 1e-13) << "layer " << l << " group " << g;
      }
    }
  }
}

// Poisson's equation on the unit square, u = sin(pi x) sin(pi y), walls as a separate term.
struct Poisson {
  Poisson() {
    Problem p;
    p.symbols = std::make_shared<OutputSymbols>(*p.graph, std::vector<std::string>{"x", "y"},
                                                std::vector<std::string>{"N"});
    for (int i = 0; i < 2; ++i) {
      p.domain.push_back({0, 1});
      p.network_inputs.push_back(p.symbols->coordinate(i));
    }
    p.network = {.width = 16, .depth = 1};
    const double pi = std::numbers::pi;
    const Expr x = p.symbols->coordinate(0), y = p.symbols->coordinate(1);
    p.point_sets = {{"interior", PointSet::Kind::interior, {}, {}, {}},
                    {"wall", PointSet::Kind::boundary, {}, {}, {}}};
    p.terms = {{"poisson", 0,
                p.symbols->output(0, index_of({2, 0, 0})) + p.symbols->output(0, index_of({0, 2, 0})) +
                    2 * pi * pi * sin(pi * x) * sin(pi * y),
                1.0},
               {"wall", 1, p.symbols->output(0), 1.0}};
    objective = std::make_unique<PinnObjective>(p, EngineOptions{.threads = 1});
    Points inside, wall;
    inside.coordinates.resize(2);
    wall.coordinates.resize(2);
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 12; ++j) {
        inside.coordinates[0].push_back((i + 0.5) / 12);
        inside.coordinates[1].push_back((j + 0.5) / 12);
      }
    for (int i = 0; i < 10; ++i)
      for (const auto& [a, c] : {std::pair{(i + 0.5) / 10, 0.0},
                                 {(i + 0.5) / 10, 1.0},
                                 {0.0, (i + 0.5) / 10},
                                 {1.0, (i + 0.5) / 10}}) {
        wall.coordinates[0].push_back(a);
        wall.coordinates[1].push_back(c);
      }
    objective->set_points(0, inside);
    objective->set_points(1, wall);
    start = objective->initialize(5);
  }
  std::unique_ptr<PinnObjective> objective;
  std::vector<double> start;
};

struct Promise {
  std::string name;
  nlohmann::json settings;
  int steps;
  double part;  // fraction of the loss that may be left
};

class MethodOnPoisson : public testing::TestWithParam<Promise> {};

TEST_P(MethodOnPoisson, LowersTheLossByTheStatedFactorInTheStatedSteps) {
  Poisson poisson;
  const auto method =
      optim::make_from_json(GetParam().name, poisson.objective->layout(), GetParam().settings);
  auto x = poisson.start;
  const double before = poisson.objective->value(x);
  for (int t = 0; t < GetParam().steps; ++t) {
    const auto report = method->step(*poisson.objective, x);
    ASSERT_NE(report.status, optim::Status::non_finite) << report.message << " in step " << t;
    if (report.status == optim::Status::stalled) break;
  }
  const double left = poisson.objective->value(x) / before;
  EXPECT_LT(left, GetParam().part);
}
INSTANTIATE_TEST_SUITE_P(Catalogue, MethodOnPoisson,
                         testing::Values(Promise{"lm", {}, 60, 1e-4}, Promise{"engd", {}, 60, 1e-5},
                                         Promise{"anagram", {}, 60, 1e-5}, Promise{"spring", {}, 60, 1e-5},
                                         Promise{"nncg", {}, 60, 0.1},
                                         Promise{"nncg", {{"hessian", "gauss-newton"}}, 20, 1e-3},
                                         Promise{"kfac", {}, 100, 2e-2}, Promise{"kfac-star", {}, 100, 2e-3}),
                         [](const auto& info) {
                           std::string name = std::to_string(info.index) + "_" + info.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace lather::pde
