// The engine against the specification: every network × every derivative set, in quadruple precision.
#include <gtest/gtest.h>

#include <cmath>

#include "../net/plain_network.hpp"
#include "lather/core/error.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/objective.hpp"
#include "quad.hpp"
#include "sample_problems.hpp"

namespace lather::pde {
namespace {

using namespace test;
using lather::test::PlainNetwork;
using lather::test::Quad;
using lather::test::Taylor;

// The same loss from Taylor polynomials in quad precision.
Quad plain_loss(const Problem& p, const DerivativeSet& set, const net::Tape& tape, const std::vector<Quad>& x,
                const std::vector<double>& frozen, const Points& points) {
  const PlainNetwork<Quad> network(p.network, tape, x, frozen);
  const Quad mu = x.back();
  Quad loss = 0;
  for (std::size_t k = 0; k < points.count(); ++k) {
    PlainNetwork<Quad>::Vector in;
    for (int i = 0; i < p.dimensions(); ++i)
      in.push_back(Taylor<Quad>::variable(i, points.coordinates[i][k]));
    const auto out = network(in);
    const Quad a = out[0].value(), b = out[1].value(), x0 = points.coordinates[0][k];
    Quad first = a * b - mu * a + sin(x0), second = b - x0 * x0;
    Quad factor = 0.5;
    for (const auto& orders : set.orders) {
      if (set.laplacian) {
        first += a * out[0].derivative(orders);
        second += mu * out[1].derivative(orders);
      } else {
        first += factor * out[0].derivative(orders) * (1 + b);
        second -= factor * mu * out[1].derivative(orders);
        factor += Quad(0.3);
      }
    }
    loss += Quad(1.5) * first * first + Quad(0.5) * second * second;
  }
  return loss / Quad(static_cast<int>(points.count()));
}

// One for each parameter; if the plain evaluation takes long, a few that mix all of them.
std::vector<std::vector<double>> directions(std::size_t parameters, int order) {
  constexpr int kHighOrder = 5, kMixed = 2;
  std::vector<std::vector<double>> list(order < kHighOrder ? parameters : kMixed,
                                        std::vector<double>(parameters));
  for (std::size_t k = 0; k < list.size(); ++k)
    for (std::size_t i = 0; i < parameters; ++i)
      list[k][i] = order < kHighOrder ? i == k : Random(8, k).normal(i);
  return list;
}

class EveryNetwork : public testing::TestWithParam<std::tuple<Case, DerivativeSet>> {};

TEST_P(EveryNetwork, HasTheLossAndGradientOfThePlainEvaluation) {
  const auto& [network, set] = GetParam();
  Taylor<Quad>::order = 0;
  for (const auto& o : set.orders) Taylor<Quad>::order = std::max(Taylor<Quad>::order, o[0] + o[1] + o[2]);
  Taylor<Quad>::order = std::max(Taylor<Quad>::order, 1);
  const Problem p = make_problem(set, network.network);
  PinnObjective objective(p, {.threads = 2});
  auto x = objective.initialize(11);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += 0.3 * Random(5, 5).normal(i);  // biases and alphas away from zero
  const Points points = random_points(set.dimensions, 3, 17);
  objective.set_points(0, points);

  std::vector<double> gradient(x.size());
  const double loss = objective.value_and_gradient(x, gradient);
  const std::vector<double> frozen(objective.frozen().begin(), objective.frozen().end());
  std::vector<Quad> q(x.begin(), x.end());
  const Quad exact = plain_loss(p, set, objective.tape(), q, frozen, points);
  EXPECT_NEAR(loss / double(exact), 1, 1e-12);

  double scale = 0;
  for (double g : gradient) scale = std::max(scale, std::abs(g));
  for (const auto& v : directions(x.size(), Taylor<Quad>::order)) {
    // Central difference in quad precision: error about h^2 = 1e-20.
    const Quad h = 1e-10;
    auto plus = q, minus = q;
    double expected = 0, length = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      plus[i] += h * Quad(v[i]);
      minus[i] -= h * Quad(v[i]);
      expected += gradient[i] * v[i];
      length += std::abs(v[i]);
    }
    const Quad slope = (plain_loss(p, set, objective.tape(), plus, frozen, points) -
                        plain_loss(p, set, objective.tape(), minus, frozen, points)) /
                       (2 * h);
    EXPECT_NEAR(expected, double(slope), 1e-11 * scale * length) << "direction " << testing::PrintToString(v);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryNetwork, testing::Combine(testing::ValuesIn(networks()), testing::ValuesIn(derivative_sets())),
    [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name; });

TEST(Engine, HasNetworksSideBySideThatShareTheOutputsEqually) {
  EXPECT_THROW(net::build_network({.width = 3, .networks = 3}, 2, 4), Error);
  EXPECT_THROW(net::build_network({.width = 3, .networks = 2, .output_fit = net::OutputFit::all}, 2, 4),
               Error);
  const auto one = net::build_network({.width = 3, .depth = 2}, 2, 2),
             two = net::build_network({.width = 3, .depth = 2, .networks = 2}, 2, 4);
  EXPECT_EQ(two.parameters().size(), 2 * one.parameters().size());
  EXPECT_EQ(two.output().width, 4);
}

TEST(Engine, CarriesTheCollapsedLaplacianWhereOnlyTheSumIsNeeded) {
  const auto sets = derivative_sets();
  const NetworkOptions network{.width = 4, .depth = 1};
  const Problem collapsed = make_problem(sets[4], network);
  const auto tape = net::build_network(network, 2, 2);
  std::vector<Expr> residuals{collapsed.terms[0].residual, collapsed.terms[1].residual};
  EXPECT_TRUE(compile_set(collapsed, tape, residuals).jets.has_laplacian());
  EXPECT_EQ(compile_set(collapsed, tape, residuals).jets.size(), 4);  // value, x, y, Laplacian
  const Problem mixed = make_problem(sets[3], network);
  EXPECT_FALSE(compile_set(mixed, tape, std::vector{mixed.terms[0].residual}).jets.has_laplacian());
}

struct Bench {
  Problem problem = make_problem(derivative_sets()[2], {.width = 24, .depth = 3});
  Points points = random_points(2, 1000, 3);
};

TEST(Engine, GivesTheSameBitsFromRunToRunAndAgreesAcrossThreadCountsToRounding) {
  Bench b;
  std::vector<std::vector<double>> gradients;
  std::vector<double> losses;
  for (int threads : {1, 2, 3, 3}) {
    PinnObjective objective(b.problem, {.threads = threads});
    const auto x = objective.initialize(1);
    objective.set_points(0, b.points);
    auto& g = gradients.emplace_back(x.size());
    losses.push_back(objective.value_and_gradient(x, g));
    std::vector<double> again(x.size());
    EXPECT_EQ(objective.value_and_gradient(x, again), losses.back());
    EXPECT_EQ(again, g);
  }
  EXPECT_EQ(gradients[2], gradients[3]);
  double scale = 0;
  for (double g : gradients[0]) scale = std::max(scale, std::abs(g));
  for (int k : {1, 2}) {
    EXPECT_NEAR(losses[k] / losses[0], 1, 1e-14);
    for (std::size_t i = 0; i < gradients[0].size(); ++i)
      EXPECT_NEAR(gradients[k][i], gradients[0][i], 1e-14 * scale);
  }
}

TEST(Engine, DoesNotDependOnTheTileSizeBeyondRounding) {
  Bench b;
  std::vector<double> reference;
  for (std::size_t rows : {4u, 7u, 96u, 1000u}) {
    PinnObjective objective(b.problem, {.threads = 1, .tile_rows = rows});
    const auto x = objective.initialize(1);
    objective.set_points(0, b.points);
    std::vector<double> g(x.size());
    objective.value_and_gradient(x, g);
    if (reference.empty()) reference = g;
    for (std::size_t i = 0; i < g.size(); ++i) EXPECT_NEAR(g[i], reference[i], 1e-13);
  }
}

TEST(Engine, TermGradientsAddUpToTheGradientAndResidualsToTheLoss) {
  Bench b;
  PinnObjective objective(b.problem, {.threads = 2});
  const auto x = objective.initialize(1);
  objective.set_points(0, b.points);
  objective.set_term_weight(1, 3.0);
  std::vector<double> weights(1000);
  for (int i = 0; i < 1000; ++i) weights[i] = 0.5 + 0.001 * i;
  objective.set_point_weights(0, weights);

  std::vector<double> g(x.size()), losses(2);
  const double loss = objective.value_and_gradient(x, g);
  std::vector<std::vector<double>> terms;
  objective.term_gradients(x, losses, terms);
  EXPECT_NEAR(losses[0] + losses[1], loss, 1e-13 * loss);
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_NEAR(terms[0][i] + terms[1][i], g[i], 1e-12);

  std::vector<double> r(objective.residual_count());
  objective.residuals(x, r);
  double sum = 0;
  for (double v : r) sum += v * v;
  EXPECT_NEAR(sum, loss, 1e-13 * loss);
  EXPECT_NEAR(objective.value(x), loss, 1e-13 * loss);
}

TEST(Engine, InSinglePrecisionAgreesWithDouble) {
  Bench b;
  PinnObjective fine(b.problem, {.threads = 2}),
      coarse(b.problem, {.threads = 2, .precision = Precision::float32});
  const auto x = fine.initialize(1);
  coarse.initialize(1);
  fine.set_points(0, b.points);
  coarse.set_points(0, b.points);
  std::vector<double> g(x.size()), h(x.size());
  const double loss = fine.value_and_gradient(x, g), loss32 = coarse.value_and_gradient(x, h);
  EXPECT_NEAR(loss32 / loss, 1, 1e-5);
  double norm = 0, difference = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    norm += g[i] * g[i];
    difference += (g[i] - h[i]) * (g[i] - h[i]);
  }
  EXPECT_LT(std::sqrt(difference / norm), 1e-4);
  EXPECT_GT(difference, 0) << "single precision was not used";
}

// One point many times: every tile has the same gradient, and the rounding error of a single-precision sum
// would grow with their number.
TEST(Engine, AddsUpTilesInDoublePrecisionWhereItComputesInSingle) {
  const Problem problem = make_problem(derivative_sets()[2], {.width = 6, .depth = 1});
  const Points one = random_points(2, 1, 3);
  Points many = one;
  constexpr std::size_t kCopies = 300000;
  for (auto& coordinate : many.coordinates) coordinate.assign(kCopies, coordinate[0]);
  std::vector<double> single, all;
  for (auto* target : {&single, &all}) {
    PinnObjective objective(problem, {.threads = 1, .precision = Precision::float32});
    const auto x = objective.initialize(1);
    objective.set_points(0, target == &single ? one : many);
    target->resize(x.size());
    objective.value_and_gradient(x, *target);
  }
  double scale = 0, off = 0;
  for (std::size_t i = 0; i < single.size(); ++i) {
    scale = std::max(scale, std::abs(single[i]));
    off = std::max(off, std::abs(single[i] - all[i]));
  }
  EXPECT_LT(off, 1e-6 * scale) << off / scale;
}

TEST(Engine, EvaluatesFieldsAndTheirDerivativesAnywhere) {
  Bench b;
  PinnObjective objective(b.problem, {.threads = 2});
  const auto x = objective.initialize(1);
  MultiIndex first = MultiIndex{}.plus(0);
  const std::vector<Expr> list{b.problem.symbols->output(0), b.problem.symbols->output(0, first)};
  const double h = 1e-5;
  Points p;
  p.coordinates = {{0.3 - h, 0.3, 0.3 + h}, {0.2, 0.2, 0.2}};
  const auto values = objective.evaluate(x, list, p);
  EXPECT_NEAR((values[0][2] - values[0][0]) / (2 * h), values[1][1], 1e-9);
}

}  // namespace
}  // namespace lather::pde
