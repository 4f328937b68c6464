#include "commands/task/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/formats/json_places.hpp"
#include "lather/experiment/matrix_task.hpp"
#include "lather/optim/catalogue.hpp"

namespace lather::command::matrix {

namespace {

// {"schedule.decay": "cosine"} means {"schedule": {"decay": "cosine"}}.
TomlValue without_dots(const TomlValue& table) {
  TomlValue nested = make_table({}, table.where);
  for (const auto& [key, where, inner] : table.entries) {
    std::string path = key;
    TomlValue value = inner;
    for (auto dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.')) {
      value = make_table({{path.substr(dot + 1), where, std::move(value)}}, where);
      path.resize(dot);
    }
    merge_toml(nested, make_table({{path, where, std::move(value)}}, where));
  }
  return nested;
}

void require_optimizers_as_keys(const TomlValue& table, const std::string& what) {
  std::vector<std::string> names;
  for (const auto& entry : optim::catalogue()) names.push_back(entry.name);
  table.as_table(what).only_keys(what, names);
}

std::map<std::string, TomlValue> read_optimizer_settings(const TomlValue& table, const std::string& what) {
  std::map<std::string, TomlValue> settings;
  require_optimizers_as_keys(table, what);
  for (const auto& [name, where, value] : table.entries) {
    settings[name] = without_dots(value.as_table(what + "." + name));
    spec_of(name, settings[name]);
  }
  return settings;
}

std::map<std::string, std::map<std::int64_t, std::string>> read_paper(const TomlValue& table,
                                                                      const std::string& what) {
  std::map<std::string, std::map<std::int64_t, std::string>> paper;
  require_optimizers_as_keys(table, what);
  for (const auto& [name, where, values] : table.entries)
    for (const auto& [key, place, value] : values.as_table(what + "." + name).entries) {
      std::int64_t step = 0;
      const char* end = key.data() + key.size();
      if (const auto [stop, status] = std::from_chars(key.data(), end, step);
          status != std::errc() || stop != end || step < 1)
        throw Error(place, fmt::format("{}.{}: expected a step, got '{}'", what, name, one_line(key)));
      paper[name][step] = value.as_text(fmt::format("{}.{}.{}", what, name, key)).text;
    }
  return paper;
}

TaskData read_section(const TomlValue& section, const std::string& task) {
  TaskData data;
  section.as_table(task).only_keys(task, {"citation", "metric", "steps", "settings", "paper"});
  if (const auto* value = section.find("citation")) data.citation = value->as_text(task + ".citation").text;
  if (const auto* value = section.find("metric")) {
    data.metric = value->as_text(task + ".metric").text;
    const auto known = experiment::task_metric_names(task);
    if (std::find(known.begin(), known.end(), data.metric) == known.end())
      throw Error(value->where, fmt::format("{}.metric: {}", task,
                                            unknown_name_message("metric", one_line(data.metric), known)));
  }
  if (const auto* value = section.find("steps")) {
    data.steps = value->as_integer(task + ".steps");
    if (data.steps < 1 || data.steps > kMostSteps)
      throw Error(value->where, fmt::format("{}.steps: expected a whole number in [1, {}], got {}", task,
                                            kMostSteps, data.steps));
  }
  if (const auto* value = section.find("settings"))
    data.settings = read_optimizer_settings(*value, task + ".settings");
  if (const auto* value = section.find("paper")) data.paper = read_paper(*value, task + ".paper");
  return data;
}

std::vector<double> read_learning_rates(const TomlValue& list) {
  std::vector<double> rates;
  for (const auto& item : list.items)
    if (item.is_number() && item.real > 0) rates.push_back(item.real);
  if (rates.empty() || rates.size() != list.items.size())
    throw Error(list.where, "learning_rate_grid: expected a list of positive numbers");
  return rates;
}

}  // namespace

optim::OptimizerSpec spec_of(const std::string& name, const TomlValue& settings) {
  if (const auto* given = settings.find("name"))
    throw Error(given->where, fmt::format("{0}.name cannot be set: these are the settings of {0}", name));
  TomlValue table = settings;
  set_toml(table, "name", nlohmann::json(name).dump());
  return optim::read_optimizer(table, name);
}

TaskData read_task_data(const std::string& file, const std::string& task) {
  const std::string text = read_file(file);
  const SourceLocation where{file, 0, 0};
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) throw Error(where, "not valid JSON (damaged or cut off?)");
  if (!json.is_object()) throw Error(where, "expected the JSON data of the matrix tasks (option --data)");
  TomlValue tree = toml_from_json(json, where);
  place_values(tree, text, file);
  std::vector<std::string> keys = experiment::task_names();
  keys.insert(keys.end(), {"about", "learning_rate_grid"});
  tree.only_keys("the data of the matrix tasks", keys);
  TaskData data;
  for (const auto& name : experiment::task_names())
    if (const auto* section = tree.find(name)) {
      auto read = read_section(*section, name);
      if (name == task) data = std::move(read);
    }
  if (const auto* rates = tree.find("learning_rate_grid")) data.learning_rates = read_learning_rates(*rates);
  return data;
}

}  // namespace lather::command::matrix
