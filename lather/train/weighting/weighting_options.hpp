#pragma once
// How a recipe specifies the weighting of terms and points; term_weighting.hpp and point_weighting.hpp
// explain the letters.

#include <cstdint>
#include <string>
#include <vector>

#include "lather/core/options.hpp"

namespace lather::train {

struct TermWeightingOptions {
  std::int64_t every = 1000;
  double average = 0.9;
  void fields(FieldVisitor& v) {
    v.integer("every", every, "steps between updates", at_least(1));
    v.real("average", average, "beta: share of the old weight in the new one", unit_open_right());
  }
};

struct BalanceOptions {
  std::int64_t every = 1;
  double exponent = 0.05;
  void fields(FieldVisitor& v) {
    v.integer("every", every, "steps between updates", at_least(1));
    v.real("exponent", exponent, "p: how fast weighted losses are drawn together", between(0, 1));
  }
};

struct CausalOptions {
  double tolerance = 1;
  std::vector<double> tolerances;
  double threshold = 0.99;
  std::int64_t chunks = 32, every = 10;
  std::string coordinate = "t";
  bool off() const { return tolerance == 0 && tolerances.empty(); }
  void fields(FieldVisitor& v) {
    v.real("tolerance", tolerance, "eps: how strictly earlier times come first; 0: off", non_negative());
    v.reals("tolerances", tolerances,
            "a growing list of eps, instead of one: the next is taken when all weights exceed the threshold");
    v.real("threshold", threshold, "delta: see tolerances", between(0, 1));
    v.integer("chunks", chunks, "M: parts of the time interval", between(1, 1e6));
    v.integer("every", every, "steps between updates", at_least(1));
    v.text("coordinate", coordinate, "the coordinate that is the time");
  }
};

struct SelfAdaptiveOptions {
  double learning_rate = 5e-3, initial = 1;
  std::int64_t every = 1;
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "of the ascent", positive());
    v.real("initial", initial, "l_i to begin with; the weight of a point is its square", positive());
    v.integer("every", every, "steps between updates", at_least(1));
  }
};

enum class WeightingMethod { fixed, gradient_norm, ntk, balance, self_adaptive, causal };

// `weighting = "ntk"` or `weighting = {method = "ntk",
// every = 1000}`: the method decides which options there are.
struct WeightingOptions {
  WeightingMethod method = WeightingMethod::fixed;
  TermWeightingOptions terms;  // gradient_norm, ntk
  BalanceOptions balance;
  SelfAdaptiveOptions self_adaptive;
  CausalOptions causal;
  void fields(FieldVisitor& v) {
    v.choice("method", method, "how terms and points are weighed",
             {{"fixed", WeightingMethod::fixed},
              {"gradient-norm", WeightingMethod::gradient_norm},
              {"ntk", WeightingMethod::ntk},
              {"balance", WeightingMethod::balance},
              {"self-adaptive", WeightingMethod::self_adaptive},
              {"causal", WeightingMethod::causal}});
    switch (method) {
      case WeightingMethod::fixed: break;
      case WeightingMethod::gradient_norm:
      case WeightingMethod::ntk: terms.fields(v); break;
      case WeightingMethod::balance: balance.fields(v); break;
      case WeightingMethod::self_adaptive: self_adaptive.fields(v); break;
      case WeightingMethod::causal: causal.fields(v); break;
    }
  }
};

}  // namespace lather::train
