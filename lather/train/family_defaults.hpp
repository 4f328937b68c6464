#pragma once
// Settings that suit a family of optimizers, for a user who asks for a different optimizer than the recipe
// was made for. A problem file may know better: [training.RECIPE.FAMILY], as in [training.quick.first-order].

#include <cstdint>
#include <string>
#include <vector>

#include "lather/core/formats/toml.hpp"
#include "lather/optim/catalogue.hpp"

namespace lather::train {

struct FamilyDefaults {
  double learning_rate = 0;  // 0: the method finds its own step length
  bool cosine = false;       // the learning rate falls to zero over the training
  std::int64_t redraw = 0;   // steps between draws of points
  std::int64_t width = 0, depth = 0;
  std::int64_t interior = 0;  // points
  std::int64_t steps = 0;
};
FamilyDefaults family_defaults(optim::Family family);

// First-order and Kronecker methods need networks and points of the same size, and similar numbers of steps.
bool alike(optim::Family a, optim::Family b);

std::vector<std::string> family_names();

// As a layer of a recipe: network, points, sampling.every, steps.
TomlValue recipe_for(const std::string& optimizer);
// The part of it that the method needs in any network: for methods that train only the output layer, sines
// that stay as drawn.
TomlValue network_for(const std::string& optimizer);
// As a table: learning_rate and schedule, as far as the optimizer has a learning rate.
TomlValue optimizer_of_family(const std::string& optimizer);

}  // namespace lather::train
