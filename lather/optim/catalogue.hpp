#pragma once
// Every optimizer by name. A preset is an entry of its own: same class, different defaults.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

// Methods that want the same settings: learning rate, schedule, redraws, size of the network, points.
enum class Family { first_order, kronecker, quasi_newton, least_squares, output_layer };
std::string_view name_of(Family family);  // "first-order", …

// What happens to the hidden layers of a network: they are trained with the others; they stay as initialized;
// or the method draws them itself.
enum class HiddenLayers { trained, kept, drawn };

struct OptimizerEntry {
  std::string name;     // "ss-esoap"
  std::string summary;  // one line
  Family family = Family::first_order;
  AnyOptions defaults;
  // Throws Error for a layout the method cannot hold in memory.
  std::function<std::unique_ptr<Optimizer>(const ParameterLayout&, const AnyOptions&)> construct;
  // The same method on the GPU; empty if there is none. Returns null if these options are for the host.
  std::function<std::unique_ptr<Optimizer>(const ParameterLayout&, const AnyOptions&)> construct_on_device =
      {};
  bool needs_residuals = false;  // works only on sums of squared residuals (Objective::residual_count() > 0)
  HiddenLayers hidden_layers = HiddenLayers::trained;

  // With its defaults.
  std::unique_ptr<Optimizer> make(const ParameterLayout& layout) const { return construct(layout, defaults); }
  // For recorded trajectories and experiments: the defaults with a JSON object such as
  // {"learning_rate": 1e-3} applied. Throws Error for unknown keys and values out of range.
  AnyOptions options(const nlohmann::json& settings) const;
  std::vector<FieldDescription> describe() const { return lather::options::describe(defaults); }
};

// An entry for a class with constructor Method(const ParameterLayout&, const Options&).
template <class Method, class Options>
OptimizerEntry entry(std::string name, std::string summary, Options defaults,
                     Family family = Family::first_order) {
  OptimizerEntry e;
  e.name = std::move(name);
  e.summary = std::move(summary);
  e.family = family;
  e.defaults = std::move(defaults);
  e.construct = [](const ParameterLayout& layout, const AnyOptions& options) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Method>(layout, options.as<Options>());
  };
  return e;
}

// The same for a method that works on residuals.
template <class Method, class Options>
OptimizerEntry residual_entry(std::string name, std::string summary, Options defaults,
                              Family family = Family::least_squares) {
  auto e = entry<Method>(std::move(name), std::move(summary), std::move(defaults), family);
  e.needs_residuals = true;
  return e;
}

// For a method that determines the output layer only.
template <class Method, class Options>
OptimizerEntry output_layer_entry(std::string name, std::string summary, Options defaults,
                                  HiddenLayers hidden_layers) {
  auto e =
      residual_entry<Method>(std::move(name), std::move(summary), std::move(defaults), Family::output_layer);
  e.hidden_layers = hidden_layers;
  return e;
}

const std::vector<OptimizerEntry>& catalogue();
// Adds an optimizer of the caller's own, which can then be found by name everywhere. Throws Error if the name
// is taken. Call it before training starts: it invalidates references to entries.
void register_optimizer(OptimizerEntry added);
const OptimizerEntry& find_optimizer(const std::string& name);  // throws Error naming the closest

}  // namespace lather::optim
