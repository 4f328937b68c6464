#pragma once
// An experiment that runs in a second: two methods on the heat equation.

#include <string>

#include "lather/experiment/experiment.hpp"

namespace lather::small_experiment {

inline const char* const kSmallExperiment = R"(
name = "small"
title = "Small"
recipe = "quick"
claim = "Adam leads."

[settings]
network.width = 6
network.depth = 2
training.points.interior = 64
training.points.initial = 16
training.points.walls = 16
training.sampling.every = 10

[[problem]]
name = "heat-1d"
label = "Heat"

[[variant]]
name = "adam"
label = "Adam"
grid.optimizer.learning_rate = [1e-3, 1e-2, 1e-1]
grid.optimizer.beta2 = [0.9, 0.999]

[[variant]]
name = "ss-esoap"
settings.optimizer.learning_rate = 1e-2

[[metric]]
quantity = "mean_square"
paper.heat-1d = {adam = 1e-3, ss-esoap = [2e-3, 1e-4]}

[[metric]]
quantity = "l2"

[[figure]]
name = "steps"

[budget.quick]
steps = 40
tuning_steps = 15
grid_values = 2
seeds = 2

[budget.short]
steps = 20
)";

inline experiment::Experiment read_text(const std::string& text) {
  return experiment::read_experiment(parse_toml(text, "small.toml"));
}

// The text with one part replaced.
inline std::string with(std::string text, const std::string& part, const std::string& by) {
  return text.replace(text.find(part), part.size(), by);
}

}  // namespace lather::small_experiment
