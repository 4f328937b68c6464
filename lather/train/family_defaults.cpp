#include "lather/train/family_defaults.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lather/net/architecture.hpp"

namespace lather::train {

using optim::Family;
using Json = nlohmann::json;

FamilyDefaults family_defaults(Family family) {
  switch (family) {
    // Measured: Burgers, KdV and Allen-Cahn at width 128 and 20, cosine to zero, redraws every 1,000 steps:
    // 1e-3 is the best of 1e-3, 3e-3, 1e-2 for Adam; Kronecker methods hardly care.
    case Family::first_order: return {1e-3, true, 1000, 64, 4, 4096, 20000};
    case Family::kronecker: return {3e-3, true, 1000, 64, 4, 4096, 10000};
    // Dense matrices of all parameters; secants do not survive a redraw.
    case Family::quasi_newton: return {0, false, 1000, 20, 4, 4096, 5000};
    // Measured: 20×4, 4,096 points redrawn every 10 steps solved seven of eight problems in 45 s on two
    // cores, about 300 iterations each.
    case Family::least_squares: return {0, false, 10, 20, 4, 4096, 500};
    // One wide layer, at least four rows per output weight. `linear` solves in the first step and notices it
    // in the second; Gauss-Newton takes a handful of steps.
    case Family::output_layer: return {0, false, 0, 1000, 1, 4096, 20};
  }
  return {};
}

bool alike(Family a, Family b) {
  const auto by_gradient = [](Family f) { return f == Family::first_order || f == Family::kronecker; };
  return a == b || (by_gradient(a) && by_gradient(b));
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family f : {Family::first_order, Family::kronecker, Family::quasi_newton, Family::least_squares,
                         Family::output_layer})
    names.emplace_back(name_of(f));
  return names;
}

TomlValue recipe_for(const std::string& optimizer) {
  const Family family = optim::find_optimizer(optimizer).family;
  const FamilyDefaults d = family_defaults(family);
  TomlValue recipe = toml_from_json(Json{{"steps", d.steps},
                                         {"points", {{"interior", d.interior}}},
                                         {"sampling", {{"every", d.redraw}}},
                                         {"network", {{"width", d.width}, {"depth", d.depth}}}},
                                    {});
  merge_toml(recipe, network_for(optimizer));
  return recipe;
}

TomlValue network_for(const std::string& optimizer) {
  const auto with_sines = [](Json network) {
    network["activation"] = "sin";
    return toml_from_json(Json{{"network", std::move(network)}}, {});
  };
  switch (optim::find_optimizer(optimizer).hidden_layers) {
    case optim::HiddenLayers::trained: break;
    case optim::HiddenLayers::kept: return with_sines({{"train", "output"}, {"initialization", "features"}});
    case optim::HiddenLayers::drawn:  // at several scales of its own: resets those of a recipe for features
      return with_sines({{"train", "all"},
                         {"initialization", "glorot"},
                         {"feature_scale", net::NetworkOptions{}.feature_scale},
                         {"input_scales", Json::array()}});
  }
  return toml_from_json(Json::object(), {});
}

TomlValue optimizer_of_family(const std::string& optimizer) {
  const auto& entry = optim::find_optimizer(optimizer);
  const FamilyDefaults d = family_defaults(entry.family);
  const auto options = entry.describe();
  Json table = Json::object();
  if (d.learning_rate > 0 && std::any_of(options.begin(), options.end(),
                                         [](const FieldDescription& o) { return o.name == "learning_rate"; }))
    table["learning_rate"] = d.learning_rate;
  if (d.cosine) table["schedule"] = {{"decay", "cosine"}};
  return toml_from_json(table, {});
}

}  // namespace lather::train
