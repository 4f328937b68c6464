#pragma once
// Every optimizer by name. A preset is an entry of its own: same class, other defaults.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct OptimizerEntry {
  std::string name;     // "ss-esoap"
  std::string summary;  // one line
  // Throws Error for unknown keys, values out of range, or a layout the method cannot hold in memory.
  std::function<std::unique_ptr<Optimizer>(const ParameterLayout&, const nlohmann::json& settings)> make;
  std::function<std::vector<FieldDescription>()> describe;
  std::function<nlohmann::json(const nlohmann::json& settings)> resolve;  // defaults with `settings` applied
  // The same method living on the GPU; empty if there is none. Null: these settings are for the host.
  std::function<std::unique_ptr<Optimizer>(const ParameterLayout&, const nlohmann::json& settings)>
      make_on_device = {};
  bool needs_residuals = false;  // works only on sums of squared residuals (Objective::residual_count() > 0)
};

// An entry for a class with constructor Method(const ParameterLayout&, const Options&).
template <class Method, class Options>
OptimizerEntry entry(std::string name, std::string summary, Options defaults) {
  OptimizerEntry e{name, std::move(summary), {}, {}, {}, {}, false};
  e.make = [name, defaults](const ParameterLayout& layout,
                            const auto& settings) -> std::unique_ptr<Optimizer> {
    Options chosen = defaults;
    options::set_all(chosen, name, settings);
    return std::make_unique<Method>(layout, chosen);
  };
  e.describe = [defaults] { return options::describe(defaults); };
  e.resolve = [name, defaults](const auto& settings) {
    Options chosen = defaults;
    options::set_all(chosen, name, settings);
    return options::to_json(chosen);
  };
  return e;
}

// The same for a method that works on residuals.
template <class Method, class Options>
OptimizerEntry residual_entry(std::string name, std::string summary, Options defaults) {
  auto e = entry<Method>(std::move(name), std::move(summary), std::move(defaults));
  e.needs_residuals = true;
  return e;
}

const std::vector<OptimizerEntry>& catalogue();
const OptimizerEntry& find_optimizer(const std::string& name);  // throws Error naming the nearest

}  // namespace lather::optim
