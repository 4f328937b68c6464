#pragma once
// One training of many: one thread, few lines in its history.

#include <string>
#include <vector>

#include "lather/train/config.hpp"

namespace lather::batch {

using Settings = std::vector<pde::Override>;

struct TrainingRequest {
  std::string problem, recipe, optimizer;
  std::string text = {};  // of the problem; `problem` is then only its name in messages
  Settings settings;
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  // 0: the recipe's
  double seconds = 0;      // 0: no limit
  Device device = Device::cpu;
};
train::Config resolve_training(const TrainingRequest& request);

}  // namespace lather::batch
