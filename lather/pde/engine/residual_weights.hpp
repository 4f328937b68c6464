#pragma once
// Shared by the methods that read layer signals: where a dense layer's parameters are, and the square roots
// of the weights that turn residuals into r_i = sqrt(weight * point weight / points) * residual_i.

#include "lather/pde/engine/engine.hpp"

namespace lather::pde {

// A layer's parameters in the flat array. With a scale g the effective weight is V diag(g).
struct LayerBlocks {
  const optim::ParameterBlock *weight = nullptr, *bias = nullptr, *scale = nullptr;
};

// Indexed by the weight's block; `weight` is null if a block is not a dense layer's weight.
std::vector<LayerBlocks> layers_by_weight_block(const Engine& engine);

std::vector<double> root_weights(const Engine& engine, int term);

}  // namespace lather::pde
