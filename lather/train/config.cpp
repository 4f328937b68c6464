#include "lather/train/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "lather/core/device.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/threads.hpp"
#include "lather/core/toml.hpp"
#include "lather/core/version.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/wrappers/clipped.hpp"
#include "lather/optim/wrappers/schedule.hpp"
#include "lather/optim/wrappers/schedule_free.hpp"
#include "lather/optim/wrappers/switching.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/train/recipe.hpp"

namespace lather::train {

using Json = nlohmann::json;

namespace {

constexpr int kFormat = 1, kMostThreads = 4096;
const std::vector<std::string> kTargets = {"residual", "l2", "h1", "loss"};

// The one place that knows which devices this build can use.
void require_device(const std::string& device) {
  if (device == "cpu") return;
  if (device == "cuda") {
    if (const auto cuda = cuda_report(); !cuda.usable)
      throw Error("--device cuda: " + cuda.text + "; use --device cpu");
    return;
  }
  throw Error(unknown_name_message("device", device, std::vector<std::string>{"cpu", "cuda"}));
}

pde::Precision precision_from(const std::string& name) {
  if (name == "float64") return pde::Precision::float64;
  if (name == "float32") return pde::Precision::float32;
  throw Error(unknown_name_message("precision", name, std::vector<std::string>{"float64", "float32"}));
}

template <class Options>
Json resolved(const std::string& owner, const Json& settings) {
  if (!settings.is_object())
    throw Error(fmt::format("{}: expected a table of options, got {}", owner, settings.dump()));
  Options options;
  options::set_all(options, owner, settings);
  return options::to_json(options);
}

// Parts of a problem file whose keys are free: a new key there would be accepted and have no effect.
const std::vector<std::string> kFreeSections = {"parameters", "let", "unknown", "domain", "map", "ansatz"};

void require_existing(const TomlValue& root, const pde::Override& setting) {
  const auto dot = setting.path.find('.');
  const std::string section = setting.path.substr(0, dot);
  if (std::find(kFreeSections.begin(), kFreeSections.end(), section) == kFreeSections.end()) {
    std::vector<std::string> known = {"optimizer", "training", "network",  "equation",
                                      "condition", "data",     "reference"};
    known.insert(known.end(), kFreeSections.begin(), kFreeSections.end());
    if (std::find(known.begin(), known.end(), section) == known.end() || dot == std::string::npos)
      throw Error(fmt::format("--set {}={}: {}", setting.path, setting.value,
                              unknown_name_message("group of settings", section, known)));
    return;
  }
  const TomlValue* table = root.find(section);
  std::vector<std::string> known;
  if (table)
    for (const auto& entry : table->entries) known.push_back(entry.key);
  const std::string key = dot == std::string::npos ? "" : setting.path.substr(dot + 1);
  if (std::find(known.begin(), known.end(), key.substr(0, key.find('.'))) == known.end())
    throw Error(fmt::format("--set {}={}: {}", setting.path, setting.value,
                            unknown_name_message("key of [" + section + "]", key, known)));
}

// What is not text cannot be written into config.json.
void require_utf8(const pde::Override& setting) {
  try {
    static_cast<void>(Json({setting.path, setting.value}).dump());
  } catch (const Json::exception&) {
    throw Error("--set: a path or value is not valid UTF-8");
  }
}

struct SortedSettings {
  std::vector<pde::Override> optimizer, training, problem;
};

SortedSettings sort_settings(const TomlValue& root, const std::vector<pde::Override>& settings) {
  SortedSettings sorted;
  for (const auto& setting : settings) {
    require_utf8(setting);
    const auto rest = [&](std::string_view prefix) {
      return pde::Override{setting.path.substr(prefix.size()), setting.value};
    };
    if (setting.path.starts_with("optimizer."))
      sorted.optimizer.push_back(rest("optimizer."));
    else if (setting.path.starts_with("training."))
      sorted.training.push_back(rest("training."));
    else {
      require_existing(root, setting);
      sorted.problem.push_back(setting);
    }
  }
  return sorted;
}

Json choose_optimizer(const Recipe& recipe, const std::string& wanted,
                      const std::vector<pde::Override>& settings) {
  Json chosen = recipe.optimizer;
  if (!chosen.is_object() || !chosen.contains("name") || !chosen["name"].is_string())
    throw Error("training.optimizer: expected a name, or a table with a name, got " + chosen.dump());
  if (!wanted.empty() && chosen.value("name", "") != wanted)
    chosen = {{"name", wanted}};  // its options belong to another
  optim::find_optimizer(chosen.at("name").get<std::string>());
  for (const auto& setting : settings) set_json(chosen, setting.path, setting.value);
  return resolve_optimizer(chosen);
}

// Numbers in files may be anything; a cast of what does not fit is undefined.
std::int64_t whole_number(const Json& object, const char* key, std::int64_t low, std::int64_t high) {
  const Json& value = object.at(key);
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high)
                    : value.is_number_integer() ? value.get<std::int64_t>() <= high
                                                : false;
  if (!fits || value.get<std::int64_t>() < low)
    throw Error(fmt::format("the configuration is damaged: {} must be a whole number in [{}, {}], not {}",
                            key, low, high, value.dump()));
  return value.get<std::int64_t>();
}

const Json& table(const Json& object, const char* key) {
  const Json& value = object.at(key);
  if (!value.is_object())
    throw Error(fmt::format("the configuration is damaged: {} must be a table, not {}", key, value.dump()));
  return value;
}

Target checked(const Target& target) {
  if (std::find(kTargets.begin(), kTargets.end(), target.quantity) == kTargets.end())
    throw Error(unknown_name_message("target", target.quantity, kTargets));
  if (!(target.value > 0))
    throw Error(fmt::format("the target of {} must be positive, not {}", target.quantity, target.value));
  return target;
}

Json target_json(const std::optional<Target>& target) {
  if (!target) return nullptr;
  return {{"quantity", target->quantity}, {"value", target->value}};
}

}  // namespace

Target parse_target(const std::string& text) {
  const auto equals = text.find('=');
  Target target{text.substr(0, equals), 0};
  if (std::find(kTargets.begin(), kTargets.end(), target.quantity) == kTargets.end())
    throw Error(unknown_name_message("target", target.quantity, kTargets));
  const char* begin = text.data() + (equals == std::string::npos ? text.size() : equals + 1);
  const auto [end, status] = std::from_chars(begin, text.data() + text.size(), target.value);
  if (status != std::errc() || end != text.data() + text.size() || !(target.value > 0))
    throw Error(fmt::format("--target {}: expected a positive number, as in {}=1e-6", text, target.quantity));
  return target;
}

Json resolve_optimizer(const Json& settings) {
  if (!settings.is_object() || !settings.contains("name") || !settings["name"].is_string())
    throw Error("optimizer: expected a name with options, got " + settings.dump());
  Json own = Json::object(), wrappers = Json::object();
  for (const auto& [key, value] : settings.items()) {
    if (key == "clip")
      wrappers[key] = resolved<optim::ClipOptions>("optimizer.clip", value);
    else if (key == "schedule")
      wrappers[key] = resolved<optim::ScheduleOptions>("optimizer.schedule", value);
    else if (key == "schedule_free")
      wrappers[key] = resolved<optim::ScheduleFreeOptions>("optimizer.schedule_free", value);
    else if (key == "then") {
      Json second = value, change = Json::object();
      for (const auto& field : options::describe(optim::SwitchOptions{}))
        if (second.contains(field.name)) {
          change[field.name] = second[field.name];
          second.erase(field.name);
        }
      wrappers[key] = resolve_optimizer(second);
      wrappers[key].update(resolved<optim::SwitchOptions>("optimizer.then", change));
    } else if (key != "name")
      own[key] = value;
  }
  const auto name = settings["name"].get<std::string>();
  Json result = optim::find_optimizer(name).resolve(own);
  result["name"] = name;
  result.update(wrappers);
  return result;
}

Config resolve(const ConfigRequest& request) {
  require_device(request.device);
  Config config;
  const auto path = std::filesystem::absolute(pde::find_problem(request.problem));
  config.problem_file = path.string();
  config.problem_text = read_file(path);
  const TomlValue root = parse_toml(config.problem_text, config.problem_file);
  const SortedSettings settings = sort_settings(root, request.settings);

  const TomlValue* training = root.find("training");
  Recipe recipe =
      choose_recipe(training ? training->to_json() : Json::object(), request.size, settings.training);
  config.size = request.size;
  config.overrides = recipe.overrides;
  config.overrides.insert(config.overrides.end(), settings.problem.begin(), settings.problem.end());
  const pde::Problem problem = read_problem(config);
  config.problem_name = problem.name;

  config.optimizer = choose_optimizer(recipe, request.optimizer, settings.optimizer);
  config.record = recipe.record;
  config.stop = {request.steps.value_or(recipe.steps), request.seconds.value_or(0), request.target};
  if (config.stop.steps < 1)
    throw Error(fmt::format("--steps {}: expected at least one step", config.stop.steps));
  if (!(config.stop.seconds >= 0))
    throw Error(fmt::format("--time {}: expected seconds", config.stop.seconds));
  if (config.record.record_every == 0)
    config.record.record_every = std::max<std::int64_t>(1, config.stop.steps / 500);
  if (config.record.validate_every == 0)
    config.record.validate_every = std::max<std::int64_t>(1, config.stop.steps / 100);
  config.training = complete_training(problem, recipe.training, config.stop.steps);

  if (request.threads < 0 || request.threads > kMostThreads)
    throw Error(fmt::format("--threads {}: expected at most {} threads, or 0 for all cores", request.threads,
                            kMostThreads));
  config.threads = request.threads > 0 ? request.threads : available_cores();
  config.seed = request.seed;
  config.precision = request.precision;
  config.device = request.device;
  return config;
}

pde::Problem read_problem(const Config& config) {
  return pde::read_problem_text(config.problem_text, config.problem_file, config.overrides);
}

Json to_json(const Config& c) {
  Json overrides = Json::array();
  for (const auto& [path, value] : c.overrides) overrides.push_back({path, value});
  return {{"format", kFormat},
          {"lather", version()},
          {"problem",
           {{"name", c.problem_name},
            {"file", c.problem_file},
            {"text", c.problem_text},
            {"overrides", overrides}}},
          {"size", c.size},
          {"optimizer", c.optimizer},
          {"training", c.training},
          {"stop",
           {{"steps", c.stop.steps}, {"seconds", c.stop.seconds}, {"target", target_json(c.stop.target)}}},
          {"record", options::to_json(c.record)},
          {"seed", c.seed},
          {"threads", c.threads},
          {"precision", c.precision == pde::Precision::float64 ? "float64" : "float32"},
          {"device", c.device}};
}

Config config_from_json(const Json& json) {
  try {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    if (const auto format = whole_number(json, "format", 0, kMost); format != kFormat)
      throw Error(fmt::format("the configuration has format {}, this version of Lather reads format {}",
                              format, kFormat));
    Config c;
    const Json& problem = json.at("problem");
    c.problem_name = problem.at("name").get<std::string>();
    c.problem_file = problem.at("file").get<std::string>();
    c.problem_text = problem.at("text").get<std::string>();
    for (const auto& item : problem.at("overrides"))
      c.overrides.push_back({item.at(0).get<std::string>(), item.at(1).get<std::string>()});
    c.size = json.at("size").get<std::string>();
    c.optimizer = resolve_optimizer(json.at("optimizer"));
    c.training = table(json, "training");
    const Json& stop = json.at("stop");
    c.stop.steps = whole_number(stop, "steps", 1, kMost);
    c.stop.seconds = stop.at("seconds").get<double>();
    if (!(c.stop.seconds >= 0)) throw Error("the configuration is damaged: stop.seconds is negative");
    if (const Json& target = stop.at("target"); !target.is_null())
      c.stop.target = checked({target.at("quantity").get<std::string>(), target.at("value").get<double>()});
    options::set_all(c.record, "record", table(json, "record"));
    if (c.record.record_every < 1 || c.record.validate_every < 1)
      throw Error("the configuration is damaged: record_every and validate_every must be at least 1");
    if (!json.at("seed").is_number_unsigned())
      throw Error("the configuration is damaged: seed must be a whole number, not " + json["seed"].dump());
    c.seed = json["seed"].get<std::uint64_t>();
    c.threads = static_cast<int>(whole_number(json, "threads", 1, kMostThreads));
    c.precision = precision_from(json.at("precision").get<std::string>());
    c.device = json.at("device").get<std::string>();
    require_device(c.device);
    return c;
  } catch (const Json::exception& error) {
    throw Error(fmt::format("the configuration is damaged: {}", error.what()));
  }
}

std::uint64_t identity(const Config& config) {
  Json json = to_json(config);
  json.erase("stop");
  json.erase("lather");
  return checksum(json.dump());
}

}  // namespace lather::train
