#pragma once
// An optimizer with its wrappers from one JSON object:
//
//   {"name": "adam", "learning_rate": 1e-3,
//    "clip": {"limit": 1}, "schedule": {"decay": "cosine", "total_steps": 20000},
//    "schedule_free": {"beta": 0.9},
//    "then": {"name": "lbfgs", "at_step": 20000}}
//
// Keys other than the five words are options of the named optimizer. Clipping is innermost, then averaging,
// then the schedule; "then" takes the options of SwitchOptions beside those of the second optimizer, which
// may have wrappers of its own.

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "lather/core/device.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

// Throws Error for unknown names and keys and for values out of range.
// On `cuda` the optimizer itself lives on the GPU if it can, and if nothing is wrapped around it but a schedule.
std::unique_ptr<Optimizer> make_composed(const ParameterLayout& layout, const nlohmann::json& settings,
                                         Device device = Device::cpu);

}  // namespace lather::optim
