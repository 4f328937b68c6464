#pragma once
// The [training] part of a problem file: what it recommends, in a size, with a person's changes on top.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lather/train/config.hpp"

namespace lather::train {

struct Recipe {
  nlohmann::json optimizer;              // at least {"name": …}
  nlohmann::json training;               // points, sampling, weighting
  std::vector<pde::Override> overrides;  // network and parameters of this size
  std::int64_t steps = 2000;
  RecordOptions record;
};

// `training`: the whole of [training]; [training.SIZE] goes over it, `settings` (paths below training) over
// both.
Recipe choose_recipe(const nlohmann::json& training, const std::string& size,
                     const std::vector<pde::Override>& settings);

// Defaults for what the recipe leaves open; throws Error for keys nobody knows.
nlohmann::json complete_training(const pde::Problem& problem, nlohmann::json training, std::int64_t steps);

// Sets json[a][b] for the path "a.b"; the value is read as TOML, or taken as a text.
void set_json(nlohmann::json& json, const std::string& path, const std::string& value);

}  // namespace lather::train
