#include "lather/net/initialize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/least_squares/output_layer/features.hpp"

namespace lather::net {

namespace {

double deviation(const NetworkOptions& options, const optim::ParameterBlock& block) {
  const double in = static_cast<double>(block.rows), out = static_cast<double>(block.cols);
  return options.initialization == Initialization::glorot ? std::sqrt(2 / (in + out)) : std::sqrt(1 / in);
}

// Weights are uniform within this, biases of hidden layers within 1 / sqrt(inputs): Sitzmann et al., "Implicit
// neural representations with periodic activation functions", 2020.
double siren_range(const NetworkOptions& options, const optim::ParameterBlock& block) {
  const double in = static_cast<double>(block.rows);
  return block.role == optim::Role::input ? 1 / in : std::sqrt(6 / in) / options.frequency;
}

}  // namespace

Weights initialize(const Tape& tape, const NetworkOptions& options, std::uint64_t seed) {
  Weights weights{std::vector<double>(tape.parameters().size(), 0.0),
                  std::vector<double>(tape.frozen().size(), 0.0)};
  for (const auto& [initialization, name] :
       {std::pair{Initialization::features, "features"}, {Initialization::siren, "siren"}})
    if (options.initialization == initialization && options.weight_factorization)
      throw Error(fmt::format("initialization={} and weight_factorization cannot be combined", name));
  std::uint64_t stream = 0;
  for (const auto& operation : tape.operations()) {
    if (!operation.dense) continue;
    const Dense& dense = *operation.dense;
    const auto& block = tape.block(dense.weight);
    auto& target = dense.weight.frozen ? weights.frozen : weights.parameters;
    const bool fourier = block.name.ends_with("fourier.weight");
    const double sigma = fourier ? options.fourier_scale : deviation(options, block);
    if (block.name == "join.weight") {  // outputs side by side, or added up
      for (std::size_t i = 0; i < block.rows; ++i) target[block.offset + i * block.cols + i % block.cols] = 1;
      continue;
    }
    const Random random(seed, stream++);
    if (options.initialization == Initialization::siren && !fourier) {
      const double widest = siren_range(options, block);
      for (std::size_t i = 0; i < block.size(); ++i)
        target[block.offset + i] = widest * (2 * random.uniform(i) - 1);
      if (block.role == optim::Role::output) continue;
      const auto& bias = tape.block(dense.bias);
      for (std::size_t j = 0; j < bias.size(); ++j)
        target[bias.offset + j] = (2 * random.uniform(block.size() + j) - 1) / std::sqrt(block.rows);
      continue;
    }
    for (std::size_t i = 0; i < block.size(); ++i) target[block.offset + i] = sigma * random.normal(i);
    if (!dense.scale) continue;
    // g = exp(normal), V = W / g column by column: the product is the usual W.
    const auto& scale = tape.block(dense.scale);
    const Random scale_random(seed, stream++);
    for (std::size_t j = 0; j < scale.rows; ++j) {
      const double g =
          std::exp(options.factorization_mean + options.factorization_deviation * scale_random.normal(j));
      target[scale.offset + j] = g;
      for (std::size_t i = 0; i < block.rows; ++i) target[block.offset + i * block.cols + j] /= g;
    }
  }
  for (const auto& block : tape.parameters().blocks())
    if (block.name.ends_with(".frequency")) weights.parameters[block.offset] = options.frequency;
  if (options.initialization == Initialization::features) {
    const bool fixed = options.train == TrainedLayers::output;
    optim::draw_features(fixed ? tape.frozen() : tape.parameters(),
                         {options.feature_scale, options.input_scales}, seed,
                         fixed ? weights.frozen : weights.parameters);
  }
  if (options.train == TrainedLayers::output)
    std::fill(weights.parameters.begin(), weights.parameters.end(), 0.0);
  return weights;
}

}  // namespace lather::net
