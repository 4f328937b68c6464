#pragma once
// One problem on the CPU and on the GPU, for networks and sets of derivatives of every kind.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "lather/pde/objective.hpp"
#include "pde/engine_inputs.hpp"

namespace lather::pde {

using net::ActivationName;
using net::NetworkOptions;
using net::NetworkType;
using symbolic::Expr;
using symbolic::MultiIndex;
using test::index_of;
using test::random_points;

struct DerivativeSet {
  const char* name;
  int dimensions;
  std::vector<std::array<int, 3>> orders;
};

inline std::vector<DerivativeSet> derivative_sets() {
  return {{"value", 2, {}},
          {"second", 2, {{2, 0, 0}, {0, 1, 0}}},
          {"laplacian", 2, {{2, 0, 0}, {0, 2, 0}}},
          {"third", 2, {{3, 0, 0}, {1, 1, 0}}},
          {"three_dimensions", 3, {{1, 1, 1}, {0, 0, 2}}},
          {"sixth", 2, {{6, 0, 0}, {3, 3, 0}}}};
}

// Interior with two residuals and an unknown, a boundary with values, and data; inputs of the network with
// varying jets.
inline Problem make_problem(const DerivativeSet& set, const NetworkOptions& network) {
  Problem p;
  const std::vector<std::string> names{"x", "y", "t"};
  p.symbols = std::make_shared<OutputSymbols>(
      *p.graph, std::vector<std::string>(names.begin(), names.begin() + set.dimensions),
      std::vector<std::string>{"N1", "N2"});
  for (int i = 0; i < set.dimensions; ++i) {
    p.domain.push_back({-1, 1});
    p.network_inputs.push_back(p.symbols->coordinate(i));
  }
  p.network_inputs.push_back(sin(2.0 * p.symbols->coordinate(0)));
  p.network = network;
  p.unknowns.push_back({"mu", 0.7, {}});
  const Expr mu = p.graph->symbol("mu");
  const Expr a = p.symbols->output(0), b = p.symbols->output(1), x = p.symbols->coordinate(0);
  Expr first = a * b - mu * a + sin(x), second = b - pow(x, 2);
  for (const auto& orders : set.orders) {
    first = first + 0.5 * p.symbols->output(0, index_of(orders)) * (1.0 + b);
    second = second - 0.3 * mu * p.symbols->output(1, index_of(orders));
  }
  p.point_sets.push_back({"interior", PointSet::Kind::interior, {}, {}, {}});
  p.point_sets.push_back({"walls", PointSet::Kind::boundary, {}, {}, {}});
  p.point_sets.push_back({"data", PointSet::Kind::data, {}, {"measured"}, {}});
  p.terms.push_back({"first", 0, first, 1.5});
  p.terms.push_back({"walls", 1, a - exp(b), 2.0});
  p.terms.push_back({"second", 0, second, 0.5});
  p.terms.push_back({"data", 2, mu * a - p.graph->symbol("data:measured"), 1.0});
  return p;
}

struct NetworkCase {
  std::string name;
  NetworkOptions network;
};

inline std::vector<NetworkCase> networks() {
  std::vector<NetworkCase> list;
  for (auto [name, activation] : {std::pair{"tanh", ActivationName::tanh},
                                  {"sin", ActivationName::sin},
                                  {"versine", ActivationName::versine},
                                  {"swish", ActivationName::swish},
                                  {"gelu", ActivationName::gelu},
                                  {"softplus", ActivationName::softplus}})
    list.push_back({std::string("mlp_") + name, {.width = 16, .depth = 3, .activation = activation}});
  list.push_back({"mlp_odd_width", {.width = 13, .depth = 2}});
  list.push_back({"mlp_wide", {.width = 640, .depth = 2}});
  list.push_back({"mlp_fourier_frozen", {.width = 12, .depth = 2, .fourier_features = 6}});
  list.push_back(
      {"mlp_fourier_trainable", {.width = 12, .depth = 2, .fourier_features = 8, .fourier_trainable = true}});
  list.push_back({"mlp_factorized", {.width = 10, .depth = 2, .weight_factorization = true}});
  list.push_back({"mlp_side_by_side", {.width = 10, .depth = 2, .networks = 2}});
  list.push_back({"mlp_fixed_features",
                  {.width = 20,
                   .depth = 1,
                   .activation = ActivationName::sin,
                   .initialization = net::Initialization::features,
                   .train = net::TrainedLayers::output}});
  list.push_back({"mlp_sines",
                  {.width = 12,
                   .depth = 2,
                   .activation = ActivationName::sin,
                   .frequency = 1.5,
                   .frequency_trainable = true,
                   .skip = true,
                   .initialization = net::Initialization::siren}});
  list.push_back({"modified_mlp", {.type = NetworkType::modified_mlp, .width = 16, .depth = 2}});
  list.push_back({"piratenet",
                  {.type = NetworkType::piratenet,
                   .width = 16,
                   .depth = 2,
                   .activation = ActivationName::swish,
                   .fourier_features = 12}});
  list.push_back({"piratenet_trainable",
                  {.type = NetworkType::piratenet,
                   .width = 6,
                   .depth = 1,
                   .fourier_features = 4,
                   .fourier_trainable = true,
                   .weight_factorization = true}});
  return list;
}

struct Pair {
  Pair(const Problem& problem, int dimensions, EngineOptions options = {.device = Device::cuda},
       const std::array<std::size_t, 3>& counts = {301, 67, 40})
      : cpu(problem, {.threads = 1, .precision = options.precision}), gpu(problem, options) {
    x = cpu.initialize(11);
    gpu.initialize(11);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += 0.1 * Random(5, 5).normal(i);  // biases and alphas away from zero
    for (auto* objective : {&cpu, &gpu}) {
      objective->set_points(0, random_points(dimensions, counts[0], 17));
      objective->set_points(1, random_points(dimensions, counts[1], 18));
      objective->set_points(2, random_points(dimensions, counts[2], 19, 1));
    }
  }
  PinnObjective cpu, gpu;
  std::vector<double> x;
};

inline void expect_close(std::span<const double> got, std::span<const double> expected, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  double scale = 0;
  for (double v : expected) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * scale) << what << " " << i;
}

}  // namespace lather::pde
