#pragma once
// Problems for tests of the engine: every derivative set, every network.

#include <memory>
#include <string>
#include <vector>

#include "lather/pde/objective.hpp"
#include "pde/engine_inputs.hpp"

namespace lather::pde::test {

using net::ActivationName;
using net::NetworkOptions;
using net::NetworkType;
using symbolic::Expr;
using symbolic::MultiIndex;

struct DerivativeSet {
  const char* name;
  int dimensions;
  std::vector<std::array<int, 3>> orders;
  bool laplacian = false;  // use the sum of the (two) second derivatives only
};

inline std::vector<DerivativeSet> derivative_sets() {
  return {{"value", 2, {}},
          {"first", 2, {{1, 0, 0}, {0, 1, 0}}},
          {"second_pure", 2, {{2, 0, 0}, {0, 1, 0}}},
          {"mixed", 2, {{1, 1, 0}, {0, 2, 0}}},
          {"laplacian", 2, {{2, 0, 0}, {0, 2, 0}}, true},
          {"third", 2, {{3, 0, 0}, {1, 1, 0}}},
          {"fourth", 2, {{4, 0, 0}, {2, 2, 0}, {0, 1, 0}}},
          {"three_dimensions", 3, {{1, 1, 1}, {0, 0, 2}}},
          {"fifth", 2, {{5, 0, 0}, {3, 0, 0}, {0, 1, 0}}},
          {"sixth_pure", 2, {{6, 0, 0}, {0, 1, 0}}},
          {"sixth_mixed", 2, {{3, 3, 0}, {1, 4, 0}, {0, 6, 0}}},
          {"sixth_three_dimensions", 3, {{2, 2, 2}}}};
}

// Two outputs; one residual that is nonlinear in the values and
// contains every derivative of the set, one that is linear.
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

struct Case {
  std::string name;
  NetworkOptions network;
};

inline std::vector<Case> networks() {
  std::vector<Case> list;
  for (auto [name, activation] : {std::pair{"tanh", ActivationName::tanh},
                                  {"sin", ActivationName::sin},
                                  {"versine", ActivationName::versine},
                                  {"swish", ActivationName::swish},
                                  {"gelu", ActivationName::gelu},
                                  {"softplus", ActivationName::softplus}})
    list.push_back({std::string("mlp_") + name, {.width = 5, .depth = 2, .activation = activation}});
  list.push_back({"mlp_fourier_frozen", {.width = 4, .depth = 1, .fourier_features = 6}});
  list.push_back(
      {"mlp_fourier_trainable", {.width = 4, .depth = 1, .fourier_features = 6, .fourier_trainable = true}});
  list.push_back(
      {"mlp_factorized",
       {.width = 4, .depth = 2, .initialization = net::Initialization::lecun, .weight_factorization = true}});
  list.push_back({"mlp_side_by_side", {.width = 3, .depth = 1, .networks = 2}});
  list.push_back({"mlp_fixed_features",
                  {.width = 5,
                   .depth = 2,
                   .skip = true,
                   .initialization = net::Initialization::features,
                   .feature_scale = 1,
                   .train = net::TrainedLayers::output}});
  list.push_back({"mlp_sines",
                  {.width = 4,
                   .depth = 2,
                   .activation = ActivationName::sin,
                   .frequency = 1.5,
                   .frequency_trainable = true,
                   .skip = true,
                   .initialization = net::Initialization::siren}});
  list.push_back({"modified_mlp", {.type = NetworkType::modified_mlp, .width = 4, .depth = 2}});
  list.push_back(
      {"modified_mlp_swish",
       {.type = NetworkType::modified_mlp, .width = 4, .depth = 2, .activation = ActivationName::swish}});
  list.push_back(
      {"piratenet", {.type = NetworkType::piratenet, .width = 4, .depth = 2, .fourier_features = 6}});
  list.push_back({"piratenet_trainable",
                  {.type = NetworkType::piratenet,
                   .width = 3,
                   .depth = 1,
                   .activation = ActivationName::sin,
                   .frequency_trainable = true,
                   .fourier_features = 4,
                   .fourier_trainable = true,
                   .weight_factorization = true}});
  return list;
}

}  // namespace lather::pde::test
