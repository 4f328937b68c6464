#include "lather/optim/least_squares/output_layer/features.hpp"

#include <cmath>

#include "lather/core/rng.hpp"

namespace lather::optim {

void draw_features(const ParameterLayout& layout, const FeatureScale& scale, std::uint64_t seed,
                   std::span<double> x) {
  double inputs = 0;  // of the layer of the last weight seen; 0: not a hidden one
  std::uint64_t stream = 0;
  for (const auto& block : layout.blocks()) {
    const Random random(seed, stream++);
    const bool hidden =
        (block.role == Role::hidden || block.role == Role::input) && !block.name.ends_with("fourier.weight");
    if (block.matrix) inputs = hidden ? static_cast<double>(block.rows) : 0;
    if (inputs == 0 || !(block.matrix || block.role == Role::bias)) continue;
    const double s = scale.scale * std::sqrt(2 / inputs);
    const bool by_input = block.matrix && block.role == Role::input && !scale.of_inputs.empty();
    for (std::size_t i = 0; i < block.size(); ++i)
      x[block.offset + i] =
          s * (by_input ? scale.of_inputs[i / block.cols] : 1) * (2 * random.uniform(i) - 1);
  }
}

std::vector<std::size_t> output_columns(const ParameterLayout& layout) {
  std::vector<std::size_t> columns;
  bool of_output = false;
  for (const auto& block : layout.blocks()) {
    if (block.matrix) of_output = block.role == Role::output;
    if (of_output && (block.matrix || block.role == Role::bias))
      for (std::size_t i = 0; i < block.size(); ++i) columns.push_back(block.offset + i);
  }
  return columns;
}

}  // namespace lather::optim
