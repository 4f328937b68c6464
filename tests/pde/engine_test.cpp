// The engine against the specification: every network × every derivative set, in quadruple precision.
#include <gtest/gtest.h>

#include <cmath>

#include "../net/plain_network.hpp"
#include "lather/core/rng.hpp"
#include "lather/pde/compiled_set.hpp"
#include "lather/pde/objective.hpp"
#include "quad.hpp"

namespace lather::pde {
namespace {

using net::ActivationName;
using net::NetworkOptions;
using net::NetworkType;
using symbolic::Expr;
using symbolic::MultiIndex;
using test::Quad;

struct DerivativeSet {
  const char* name;
  int dimensions;
  std::vector<std::array<int, 3>> orders;
  bool laplacian = false;  // use the sum of the (two) second derivatives only
};

std::vector<DerivativeSet> derivative_sets() {
  return {{"value", 2, {}},
          {"first", 2, {{1, 0, 0}, {0, 1, 0}}},
          {"second_pure", 2, {{2, 0, 0}, {0, 1, 0}}},
          {"mixed", 2, {{1, 1, 0}, {0, 2, 0}}},
          {"laplacian", 2, {{2, 0, 0}, {0, 2, 0}}, true},
          {"third", 2, {{3, 0, 0}, {1, 1, 0}}},
          {"fourth", 2, {{4, 0, 0}, {2, 2, 0}, {0, 1, 0}}},
          {"three_dimensions", 3, {{1, 1, 1}, {0, 0, 2}}}};
}

MultiIndex index_of(const std::array<int, 3>& orders) {
  MultiIndex index;
  for (int i = 0; i < 3; ++i) index.order[i] = static_cast<std::uint8_t>(orders[i]);
  return index;
}

// Two outputs; one residual that is nonlinear in the values and contains every derivative of the set, one that is linear.
Problem make_problem(const DerivativeSet& set, const NetworkOptions& network) {
  Problem p;
  const std::vector<std::string> names{"x", "y", "t"};
  p.symbols = std::make_shared<OutputSymbols>(*p.graph, std::vector<std::string>(names.begin(), names.begin() + set.dimensions), std::vector<std::string>{"N1", "N2"});
  for (int i = 0; i < set.dimensions; ++i) {
    p.domain.push_back({-1, 1});
    p.network_inputs.push_back(p.symbols->coordinate(i));
  }
  p.network = network;
  p.unknowns.push_back({"mu", 0.7, {}});
  const Expr mu = p.graph->symbol("mu");
  const Expr a = p.symbols->output(0), b = p.symbols->output(1), x = p.symbols->coordinate(0);
  Expr first = a * b - mu * a + sin(x), second = b - pow(x, 2);
  if (set.laplacian) {
    for (const auto& orders : set.orders) {
      first = first + a * p.symbols->output(0, index_of(orders));
      second = second + mu * p.symbols->output(1, index_of(orders));
    }
  } else {
    double factor = 0.5;
    for (const auto& orders : set.orders) {
      first = first + factor * p.symbols->output(0, index_of(orders)) * (1.0 + b);
      second = second - factor * mu * p.symbols->output(1, index_of(orders));
      factor += 0.3;
    }
  }
  p.point_sets.push_back({"interior", PointSet::Kind::interior, {}, {}, {}});
  p.terms.push_back({"first", 0, first, 1.5});
  p.terms.push_back({"second", 0, second, 0.5});
  return p;
}

Points random_points(int dimensions, std::size_t count, std::uint64_t seed) {
  Points points;
  for (int i = 0; i < dimensions; ++i) {
    const Random random(seed, i);
    auto& c = points.coordinates.emplace_back(count);
    for (std::size_t k = 0; k < count; ++k) c[k] = random.uniform(k, -1, 1);
  }
  return points;
}

// The same loss by Taylor polynomials in quad precision.
Quad plain_loss(const Problem& p, const DerivativeSet& set, const net::Tape& tape, const std::vector<Quad>& x,
                const std::vector<double>& frozen, const Points& points) {
  const test::PlainNetwork<Quad> network(p.network, tape, x, frozen);
  const Quad mu = x.back();
  Quad loss = 0;
  for (std::size_t k = 0; k < points.count(); ++k) {
    test::PlainNetwork<Quad>::Vector in;
    for (int i = 0; i < p.dimensions(); ++i) in.push_back(test::Taylor<Quad>::variable(i, points.coordinates[i][k]));
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

struct Case {
  std::string name;
  NetworkOptions network;
};

std::vector<Case> networks() {
  std::vector<Case> list;
  for (auto [name, activation] : {std::pair{"tanh", ActivationName::tanh}, {"sin", ActivationName::sin}, {"swish", ActivationName::swish},
                                  {"gelu", ActivationName::gelu}, {"softplus", ActivationName::softplus}})
    list.push_back({std::string("mlp_") + name, {.width = 5, .depth = 2, .activation = activation}});
  list.push_back({"mlp_fourier_frozen", {.width = 4, .depth = 1, .fourier_features = 6}});
  list.push_back({"mlp_fourier_trainable", {.width = 4, .depth = 1, .fourier_features = 6, .fourier_trainable = true}});
  list.push_back({"mlp_factorized", {.width = 4, .depth = 2, .initialization = net::Initialization::lecun, .weight_factorization = true}});
  list.push_back({"modified_mlp", {.type = NetworkType::modified_mlp, .width = 4, .depth = 2}});
  list.push_back({"modified_mlp_swish", {.type = NetworkType::modified_mlp, .width = 4, .depth = 2, .activation = ActivationName::swish}});
  list.push_back({"piratenet", {.type = NetworkType::piratenet, .width = 4, .depth = 2, .fourier_features = 6}});
  list.push_back({"piratenet_trainable", {.type = NetworkType::piratenet, .width = 3, .depth = 1, .activation = ActivationName::sin,
                                          .fourier_features = 4, .fourier_trainable = true, .weight_factorization = true}});
  return list;
}

class EveryNetwork : public testing::TestWithParam<std::tuple<Case, DerivativeSet>> {};

TEST_P(EveryNetwork, HasTheLossAndGradientOfThePlainEvaluation) {
  const auto& [network, set] = GetParam();
  test::Taylor<Quad>::order = 0;
  for (const auto& o : set.orders) test::Taylor<Quad>::order = std::max(test::Taylor<Quad>::order, o[0] + o[1] + o[2]);
  test::Taylor<Quad>::order = std::max(test::Taylor<Quad>::order, 1);
  const Problem p = make_problem(set, network.network);
  PinnObjective objective(p, {.threads = 2});
  auto x = objective.initialize(11);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.3 * Random(5, 5).normal(i);  // biases and alphas away from zero
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
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Central difference in quad precision: error about h^2 = 1e-20.
    const Quad h = 1e-10;
    auto plus = q, minus = q;
    plus[i] += h;
    minus[i] -= h;
    const Quad slope = (plain_loss(p, set, objective.tape(), plus, frozen, points) - plain_loss(p, set, objective.tape(), minus, frozen, points)) / (2 * h);
    EXPECT_NEAR(gradient[i], double(slope), 1e-11 * scale) << "parameter " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryNetwork, testing::Combine(testing::ValuesIn(networks()), testing::ValuesIn(derivative_sets())),
                         [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name; });

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
    for (std::size_t i = 0; i < gradients[0].size(); ++i) EXPECT_NEAR(gradients[k][i], gradients[0][i], 1e-14 * scale);
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

TEST(Engine, SignalsOfTheLayersGiveTheGradient) {
  Bench b;
  PinnObjective objective(b.problem, {.threads = 1});
  const auto x = objective.initialize(1);
  objective.set_points(0, b.points);
  std::vector<double> g(x.size(), 0.0), losses(2);
  std::vector<std::vector<double>> terms;
  objective.term_gradients(x, losses, terms);
  std::vector<double> r(1000);
  objective.term_residuals(x, 0, r);
  objective.visit_signals(x, 0, [&](const PinnObjective::Signals& s) {
    const auto& block = objective.layout().blocks()[s.block];
    for (int c = 0; c < s.components; ++c)
      for (std::size_t p = 0; p < s.points; ++p)
        for (std::size_t i = 0; i < block.rows; ++i)
          for (std::size_t j = 0; j < block.cols; ++j)
            g[block.offset + i * block.cols + j] += 2 * 1.5 / 1000 * r[s.first_point + p] * s.in[(c * s.points + p) * s.in_stride + i] *
                                                    s.out_bar[(c * s.points + p) * s.out_stride + j];
  });
  for (const auto& block : objective.layout().blocks()) {
    if (!block.matrix) continue;
    for (std::size_t i = 0; i < block.size(); ++i) EXPECT_NEAR(g[block.offset + i], terms[0][block.offset + i], 1e-12) << block.name;
  }
}

TEST(Engine, InSinglePrecisionAgreesWithDouble) {
  Bench b;
  PinnObjective fine(b.problem, {.threads = 2}), coarse(b.problem, {.threads = 2, .precision = Precision::float32});
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
