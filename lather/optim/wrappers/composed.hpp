#pragma once
// An optimizer with its wrappers.

#include <memory>

#include "lather/core/device.hpp"
#include "lather/optim/optimizer.hpp"
#include "lather/optim/optimizer_spec.hpp"

namespace lather::optim {

// Throws Error for a layout the method cannot hold in memory. On `cuda` the optimizer itself lives on the GPU
// if it can: not with schedule-free averaging, nor with clipping that it cannot do there.
std::unique_ptr<Optimizer> make_composed(const ParameterLayout& layout, const OptimizerSpec& spec,
                                         Device device = Device::cpu);

}  // namespace lather::optim
