#include "lather/train/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/core/toml.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/train/weighting/weighting.hpp"

namespace lather::train {

using Json = nlohmann::json;

namespace {

// Tables of [training] that are not sizes.
const std::vector<std::string> kTables = {"points",       "network",   "parameters", "optimizer",
                                          "continuation", "weighting", "sampling",   "causal"};

bool is_size(const std::string& key, const Json& value) {
  return value.is_object() && std::find(kTables.begin(), kTables.end(), key) == kTables.end();
}

Json take(Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return nullptr;
  Json value = std::move(*found);
  object.erase(found);
  return value;
}

void add_overrides(std::vector<pde::Override>& overrides, const std::string& section, const Json& table) {
  if (table.is_null()) return;
  if (!table.is_object())
    throw Error(fmt::format("training.{}: expected a table, got {}", section, table.dump()));
  for (const auto& [key, value] : table.items())
    overrides.push_back({section + "." + key, value.dump()});  // JSON scalars are TOML
}

}  // namespace

void set_json(Json& json, const std::string& path, const std::string& value) {
  TomlValue root;
  set_toml(root, "value", value);
  Json* at = &json;
  for (std::size_t start = 0;;) {
    const std::size_t dot = path.find('.', start);
    const std::string key = path.substr(start, dot - start);
    if (key.empty()) throw Error(fmt::format("--set …{}={}: expected names separated by dots", path, value));
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[key];
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  *at = root.to_json()["value"];
}

Recipe choose_recipe(const Json& training, const std::string& size,
                     const std::vector<pde::Override>& settings) {
  Json merged = Json::object();
  std::vector<std::string> sizes;
  for (const auto& [key, value] : training.items()) {
    if (is_size(key, value))
      sizes.push_back(key);
    else
      merged[key] = value;
  }
  if (std::find(sizes.begin(), sizes.end(), size) != sizes.end())
    merged.merge_patch(training[size]);
  else if (size != "quick")
    throw Error(unknown_name_message("size of training", size, sizes));
  for (const auto& setting : settings) set_json(merged, setting.path, setting.value);

  Recipe recipe;
  const Json optimizer = take(merged, "optimizer");
  if (optimizer.is_null())
    recipe.optimizer = {{"name", "ss-esoap"}};
  else if (optimizer.is_string())
    recipe.optimizer = {{"name", optimizer}};
  else
    recipe.optimizer = optimizer;
  if (const Json steps = take(merged, "steps"); !steps.is_null()) {
    if (!steps.is_number_integer())
      throw Error(fmt::format("training.steps: expected a whole number, got {}", steps.dump()));
    recipe.steps = steps.get<std::int64_t>();
  }
  for (const auto& field : options::describe(recipe.record))
    if (const Json value = take(merged, field.name.c_str()); !value.is_null())
      options::set(recipe.record, "training", field.name, value);
  add_overrides(recipe.overrides, "network", take(merged, "network"));
  add_overrides(recipe.overrides, "parameters", take(merged, "parameters"));
  recipe.training = std::move(merged);
  return recipe;
}

Json complete_training(const pde::Problem& problem, Json training, std::int64_t steps) {
  std::vector<std::string> known = pde::sampling_keys();
  for (const auto& key : weighting_keys()) known.push_back(key);
  for (const char* key : {"time_windows", "continuation"}) known.push_back(key);
  for (const auto& [key, value] : training.items())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      for (const char* own : {"optimizer", "steps", "network", "parameters"}) known.push_back(own);
      for (const auto& field : options::describe(RecordOptions{})) known.push_back(field.name);
      throw Error("training: " + unknown_name_message("key", key, known));
    }
  const auto settings = pde::sampling_settings(training, problem);
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s)
    if (const auto& set = problem.point_sets[s]; set.kind != pde::PointSet::Kind::data)
      training["points"][set.name] = settings.counts[s];
  make_weighting(training, problem);
  if (training.contains("time_windows") || training.contains("continuation"))
    training["planned_steps"] = steps;
  return training;
}

}  // namespace lather::train
