#include "lather/pde/engine/residual_weights.hpp"

#include <cmath>

namespace lather::pde {

std::vector<LayerBlocks> layers_by_weight_block(const Engine& engine) {
  const auto& blocks = engine.layout.blocks();
  std::vector<LayerBlocks> result(blocks.size());
  for (const auto& operation : engine.tape.operations()) {
    if (!operation.dense || operation.dense->weight.frozen) continue;
    const auto& d = *operation.dense;
    auto& layer = result[d.weight.block];
    layer.weight = &blocks[d.weight.block];
    if (d.bias) layer.bias = &blocks[d.bias.block];
    if (d.scale) layer.scale = &blocks[d.scale.block];
  }
  return result;
}

std::vector<double> root_weights(const Engine& engine, int term) {
  const std::size_t count = engine.residuals_of(engine.problem.terms[term].point_set);
  const auto& weights = engine.point_weights[term];
  std::vector<double> roots(count);
  for (std::size_t i = 0; i < count; ++i)
    roots[i] = std::sqrt(engine.term_weights[term] * (weights.empty() ? 1 : weights[i]) /
                         static_cast<double>(count));
  return roots;
}

}  // namespace lather::pde
