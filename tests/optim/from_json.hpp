#pragma once
// Optimizers by name and a few options, as tests write them.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "lather/optim/catalogue.hpp"

namespace lather::optim {

inline std::unique_ptr<Optimizer> make_from_json(const OptimizerEntry& entry, const ParameterLayout& layout,
                                                 const nlohmann::json& settings) {
  return entry.construct(layout, entry.options(settings));
}
inline std::unique_ptr<Optimizer> make_from_json(const std::string& name, const ParameterLayout& layout,
                                                 const nlohmann::json& settings) {
  return make_from_json(find_optimizer(name), layout, settings);
}

}  // namespace lather::optim
