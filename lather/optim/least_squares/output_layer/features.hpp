#pragma once
// Hidden weights that are drawn once and make a good basis: each neuron's slope and position are random, at
// one scale.

#include <cstdint>
#include <span>
#include <vector>

#include "lather/optim/parameters.hpp"

namespace lather::optim {

struct FeatureScale {
  double scale = 1;
  std::vector<double> of_inputs = {};  // factors of the first layer's weights, per input; empty: 1
};

// Weights and biases of hidden layers, uniform in [-s, s] with s = scale sqrt(2 / inputs of the layer): with
// two coordinates the first layer's are uniform in [-scale, scale]. The output layer, gates, Fourier features
// and unknowns stay as they are.
void draw_features(const ParameterLayout& layout, const FeatureScale& scale, std::uint64_t seed,
                   std::span<double> x);

// The parameters of the output layer: its weight and the bias that follows.
std::vector<std::size_t> output_columns(const ParameterLayout& layout);

}  // namespace lather::optim
