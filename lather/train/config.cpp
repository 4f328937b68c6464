#include "lather/train/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/formats/json_places.hpp"
#include "lather/core/text.hpp"
#include "lather/core/version.hpp"
#include "lather/parallel/in_turn.hpp"
#include "lather/pde/coefficient_table.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/recipe.hpp"
#include "lather/train/run_folder/run_folder.hpp"
#include "lather/train/size_defaults.hpp"

namespace lather::train {

using Json = nlohmann::json;

namespace {

constexpr int kFormat = 2, kMostThreads = 4096;
const std::vector<std::string> kTargets = {"residual", "l2", "h1", "loss"};

// Sections of a problem file with free keys: a new key there would be accepted and have no effect.
const std::vector<std::string> kFreeSections = {"parameters", "let", "unknown", "domain", "map", "ansatz"};

void require_existing(const TomlValue& root, const pde::Override& setting) {
  const auto dot = setting.path.find('.');
  const std::string section = setting.path.substr(0, dot);
  if (std::find(kFreeSections.begin(), kFreeSections.end(), section) == kFreeSections.end()) {
    std::vector<std::string> known = {"optimizer", "training", "network",  "equation",
                                      "condition", "data",     "reference"};
    known.insert(known.end(), kFreeSections.begin(), kFreeSections.end());
    if (std::find(known.begin(), known.end(), section) == known.end() || dot == std::string::npos)
      throw Error(setting.place(), unknown_name_message("group of settings", section, known));
    return;
  }
  const TomlValue* table = root.find(section);
  std::vector<std::string> known;
  if (table)
    for (const auto& entry : table->entries) known.push_back(entry.key);
  const std::string key = dot == std::string::npos ? "" : setting.path.substr(dot + 1);
  if (std::find(known.begin(), known.end(), key.substr(0, key.find('.'))) == known.end())
    throw Error(setting.place(), unknown_name_message("key of [" + section + "]", key, known));
}

// Only valid UTF-8 can be written to config.json.
void require_utf8(const pde::Override& setting) {
  try {
    static_cast<void>(Json({setting.path, setting.value}).dump());
  } catch (const Json::exception&) {
    throw Error("--set: a path or value is not valid UTF-8");
  }
}

struct SortedSettings {
  TomlValue tree;  // optimizer.… and training.…
  std::vector<pde::Override> problem;
  TomlValue part(const char* key) const {
    const TomlValue* found = tree.find(key);
    return found ? *found : TomlValue{};
  }
};

SortedSettings sort_settings(const TomlValue& root, const std::vector<pde::Override>& settings) {
  SortedSettings sorted;
  for (const auto& setting : settings) {
    require_utf8(setting);
    if (setting.path.starts_with("optimizer.") || setting.path.starts_with("training.")) {
      set_toml(sorted.tree, setting.path, setting.value, setting.where);
    } else {
      require_existing(root, setting);
      sorted.problem.push_back(setting);
    }
  }
  return sorted;
}

void add_overrides(std::vector<pde::Override>& overrides, const std::string& section,
                   const std::vector<TomlEntry>& entries) {
  for (const auto& entry : entries)
    overrides.push_back({section + "." + entry.key, toml_text(entry.value.to_json())});
}

void choose_limits(Config& config, const ConfigRequest& request) {
  config.stop = {request.steps.value_or(config.training.steps), request.patience, request.seconds.value_or(0),
                 request.target};
  if (config.stop.steps < 1)
    throw Error(fmt::format("--steps {}: expected at least one step", config.stop.steps));
  if (!(config.stop.seconds >= 0))
    throw Error(fmt::format("--time {}: expected seconds", config.stop.seconds));
  config.training.steps = config.stop.steps;
  if (config.record.record_every == 0)
    config.record.record_every = std::max<std::int64_t>(1, config.stop.steps / 500);
  if (config.record.validate_every == 0)
    config.record.validate_every = std::max<std::int64_t>(1, config.stop.steps / 100);
}

// Checks that the solver and its options exist before training for hours with no errors to show.
void check_reference(const TomlValue& root, const pde::Problem& problem) {
  const TomlValue* table = root.find("reference");
  if (!table || problem.reference.solver.empty()) return;
  try {
    std::vector<std::string> known{"solver", "up_to_constant"};
    for (const auto& option : reference::reference_options(problem.reference.solver))
      known.push_back(option.name);
    table->only_keys("[reference]", known);
    std::vector<std::string> fields;
    for (const auto& field : problem.fields) fields.push_back(field.name);
    for (const auto& name : problem.reference.up_to_constant)
      if (std::find(fields.begin(), fields.end(), name) == fields.end())
        throw Error("up_to_constant: " + unknown_name_message("field", name, fields));
  } catch (const Error& error) {
    if (!error.where().str().empty()) throw;
    throw Error(table->where, error.message());
  }
}

// The configuration states the size of every point set, even if the recipe left it to the defaults.
void complete_points(pde::PointOptions& points, const pde::Problem& problem) {
  const auto counts = pde::sampling_settings(points, problem).counts;
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s)
    if (const auto& set = problem.point_sets[s]; set.kind != pde::PointSet::Kind::data)
      points.points[set.name] = static_cast<std::int64_t>(counts[s]);
}

// Rejects what methods on residuals cannot use, before a folder is created and time is spent.
void require_residuals_usable(const Config& config) {
  const bool float32 = config.precision == pde::Precision::float32;
  for (const auto* spec = &config.optimizer; spec;
       spec = spec->wrappers.then ? spec->wrappers.then->optimizer.get() : nullptr) {
    if (!spec->entry().needs_residuals) continue;
    if (spec->wrappers.clip)
      throw Error(
          fmt::format("optimizer.clip cannot be combined with {}, which does not step along a gradient; "
                      "leave clip out",
                      spec->name));
    if (float32)
      throw Error(fmt::format(
          "--precision float32: {} needs float64: per-point Jacobians are not available in float32",
          spec->name));
  }
  if (float32 && config.training.weighting.method == WeightingMethod::ntk)
    throw Error(
        "--precision float32: ntk weighting needs float64: per-point Jacobians are not available in float32");
}

}  // namespace

void require_measurable_target(const Config& config, const pde::Problem& problem) {
  const auto& target = config.stop.target;
  if (!target || (target->quantity != "l2" && target->quantity != "h1")) return;
  const auto refuse = [&](const char* why) {
    throw Error(fmt::format("--target {}={:g}: errors cannot be measured: {}; use residual or loss",
                            target->quantity, target->value, why));
  };
  if (!config.record.reference) refuse("training.reference is false");
  if (problem.exact.empty() && problem.reference.solver.empty()) refuse("the problem has no [reference]");
}

static Config read_inputs(Config config, const std::filesystem::path& folder) {
  const auto data = folder / "data", start = folder / "start.json";
  for (const auto& file : entries_of_found_folder(data)) require_found_file(file);
  if (is_there(data)) config.problem.data_folder = data.string();
  if (!config.from.empty() && is_there(start))
    config.start = std::make_shared<StartingPoint>(starting_point_from_json(read_json(start, kHalfOfMemory)));
  return config;
}

Config read_config(const std::filesystem::path& file) {
  return read_inputs(config_from_text(read_file(file, kMostJsonBytes), file.string()), file.parent_path());
}

Config read_config_of_run(const std::filesystem::path& run) {
  const auto file = run / "config.json";
  return read_inputs(config_from_text(read_found_file(file, kMostJsonBytes), file.string()), run);
}

void Target::fields(FieldVisitor& v) {
  v.word("quantity", quantity, "what is looked at", kTargets);
  v.real("value", value, "stop at or below this", positive());
}

void StopOptions::fields(FieldVisitor& v) {
  v.integer("steps", steps, "stop after this many steps", at_least(1));
  v.integer("patience", patience, "stop after this many validations without a better held-out loss; 0: never",
            non_negative());
  v.real("seconds", seconds, "stop after this many seconds of training; 0: no limit", non_negative());
  v.table("target", target, "stop when a metric reaches a value");
}

void ProblemSource::fields(FieldVisitor& v) {
  v.text("name", name, "of the problem");
  v.text("file", file, "where it was read");
  v.text("text", text, "the whole file");
  v.tables("overrides", overrides, "what is changed in it");
}

const TomlValue& ProblemSource::tree() const {
  if (!tree_) tree_ = std::make_shared<const TomlValue>(parse_toml(text, file));
  return *tree_;
}

std::vector<std::filesystem::path> external_files(const Config& config) {
  const pde::Problem problem = read_problem(config);
  std::vector<std::filesystem::path> files(problem.files.begin(), problem.files.end());
  for (const auto& set : problem.point_sets)
    if (!set.file.empty()) files.emplace_back(set.file);
  for (const auto& table : problem.tables)
    if (!table->file().empty()) files.emplace_back(table->file());
  return files;
}

pde::Problem ProblemSource::read(const std::vector<pde::Override>& more) const {
  TomlValue root = tree();
  for (const auto* list : {&overrides, &more})
    for (const auto& [path, value, where] : *list) set_toml(root, path, value, where);
  return pde::read_problem(root, std::filesystem::path(file).parent_path(), data_folder);
}

void Config::fields(FieldVisitor& v) {
  v.table("problem", problem, "");
  v.text("recipe", recipe, "");
  v.text("adapted", adapted, "");
  v.table("optimizer", optimizer, "", "name");
  v.table("training", training, "");
  v.table("stop", stop, "");
  v.table("record", record, "");
  v.text("from", from, "");
  v.natural("seed", seed, "");
  v.integer("threads", threads, "", between(1, kMostThreads));
  v.integer("shards", shards, "", between(0, kMostThreads));
  v.choice("precision", precision, "",
           {{"float64", pde::Precision::float64}, {"float32", pde::Precision::float32}});
  v.choice("device", device, "", {{"cpu", Device::cpu}, {"cuda", Device::cuda}});
}

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

Device parse_device(const std::string& name) {
  if (name == "cpu") return Device::cpu;
  if (name == "cuda") return Device::cuda;
  throw Error(unknown_name_message("device", name, std::vector<std::string>{"cpu", "cuda"}));
}

void require_device(Device device) {
  if (device == Device::cpu) return;
  if (const auto cuda = cuda_report(); !cuda.usable)
    throw Error("--device cuda: " + cuda.text + "; use --device cpu");
}

// Turns optimizer = "adam" into optimizer = {name = "adam"}, which keeps what was chosen for adam.
static TomlValue with_method_in_table(TomlValue training) {
  for (auto& [key, where, value] : training.entries)
    if (key == "optimizer" && !value.is_table()) value = make_table({{"name", where, value}}, value.where);
  return training;
}

// The problem file, with settings by problem size or method family if it has no recipe.
static TomlValue with_defaults(Config& config, const ConfigRequest& request, const SortedSettings& settings) {
  TomlValue root = config.problem.tree();
  if ((request.recipe.empty() ? default_recipe(root, request.device) : request.recipe) != "quick")
    return root;
  TomlValue seen = root, asked = with_method_in_table(settings.part("training"));
  for (const auto& [path, value, where] : settings.problem) set_toml(seen, path, value, where);
  if (request.steps) set_toml(asked, "steps", std::to_string(*request.steps));
  if (const TomlValue optimizer = settings.part("optimizer"); !optimizer.entries.empty())
    merge_toml(asked, make_table({{"optimizer", optimizer.where, optimizer}}));
  if (!request.optimizer.empty()) set_toml(asked, "optimizer.name", request.optimizer);
  const auto folder = std::filesystem::path(config.problem.file).parent_path();
  auto defaults = size_defaults(seen, pde::read_problem(seen, folder), request.device, asked,
                                request.precision == pde::Precision::float32, request.seconds.value_or(0));
  merge_toml(root, defaults.layer);
  config.chosen = std::move(defaults.reasons);
  config.adapted = std::move(defaults.family);
  return root;
}

// Shards for ranks on GPUs, where each shard is a round of kernels: as many as a machine has GPUs.
static constexpr int kShardsOfGpus = 8;

// Threads, shards and ranks.
static void choose_workers(Config& config, const ConfigRequest& request) {
  if (request.threads < 0 || request.threads > kMostThreads)
    throw Error(fmt::format("--threads {}: expected at most {} threads, or 0 for all cores", request.threads,
                            kMostThreads));
  config.threads = request.threads > 0 ? request.threads : parallel::threads_of(request.ranks);
  config.device = request.device;
  config.ranks = request.ranks;
  config.shards = request.shards;
  if (config.shards < 0 || config.shards > kMostThreads)
    throw Error(fmt::format("--shards {}: expected at most {}, or 0 for as many as threads", config.shards,
                            kMostThreads));
  if (!config.ranks) return;
  if (config.shards == 0) config.shards = config.device == Device::cuda ? kShardsOfGpus : kShardsOfRanks;
  if (config.shards < config.ranks->size())
    throw Error(fmt::format("--shards {}: {} ranks need at least as many shards", config.shards,
                            config.ranks->size()));
}

Config resolve(const ConfigRequest& request) {
  require_device(request.device);
  Config config;
  const bool given = !request.text.empty();
  const std::filesystem::path path = given ? std::filesystem::path(request.problem)
                                           : std::filesystem::absolute(pde::find_problem(request.problem));
  config.problem.file = path.string();
  if (!is_utf8(config.problem.file))
    throw Error(fmt::format("the path '{}' is not UTF-8, so config.json cannot hold it", path.string()));
  config.problem.text = given ? request.text : read_file(path, kMaxTomlBytes);
  const SortedSettings settings = sort_settings(config.problem.tree(), request.settings);
  const TomlValue root = with_defaults(config, request, settings);
  check_all_recipes(root, path.parent_path());

  const bool by_family = !config.adapted.empty();
  const TomlValue training = settings.part("training");
  const Recipe recipe =
      read_recipe(root, request.recipe.empty() ? default_recipe(root, request.device) : request.recipe,
                  by_family ? with_method_in_table(training) : training, request.optimizer);
  config.recipe = recipe.name;
  if (!recipe.adapted.empty()) config.adapted = recipe.adapted;
  add_overrides(config.problem.overrides, "network", recipe.network);
  add_overrides(config.problem.overrides, "parameters", recipe.parameters);
  add_overrides(config.problem.overrides, "ansatz", recipe.ansatz);
  for (const auto& conditions : recipe.conditions)
    config.problem.overrides.push_back({"condition", toml_text(conditions.value.to_json())});
  config.problem.overrides.insert(config.problem.overrides.end(), settings.problem.begin(),
                                  settings.problem.end());
  with_recipe(root, recipe);  // checks that its parameters exist
  const pde::Problem problem = read_problem(config);
  config.problem.name = problem.name;
  check_recipe(root, recipe, problem);

  TomlValue optimizer = recipe.optimizer;
  merge_toml(optimizer, settings.part("optimizer"));
  config.optimizer = optim::read_optimizer(optimizer);
  check_reference(root, problem);
  config.training = recipe.training;
  config.record = recipe.record;
  complete_points(config.training.points, problem);
  choose_limits(config, request);

  choose_workers(config, request);
  config.seed = request.seed;
  config.precision = request.precision;
  require_residuals_usable(config);
  require_measurable_target(config, problem);
  return config;
}

Json to_json(const Config& config) {
  Json json = options::to_json(config);
  if (config.shards == 0) json.erase("shards");
  json["format"] = kFormat;
  json["lather"] = version();
  return json;
}

namespace {

// `text`: what the JSON was read from, for locations in errors; may be empty.
Config config_from(const Json& json, std::string_view text, const SourceLocation& where) {
  if (!json.is_object()) throw Error(where, "the configuration is damaged: expected an object");
  const auto format = json.find("format");
  if (format == json.end() || *format != kFormat)
    throw Error(where, fmt::format("the configuration has format {}, this version of Lather reads format {}",
                                   format == json.end() ? "(none)" : format->dump(), kFormat));
  Json rest = json;
  rest.erase("format");
  rest.erase("lather");
  Config config;
  TomlValue tree = toml_from_json(rest, where);
  if (!text.empty()) place_values(tree, text, where.file);
  for (const char* key : {"problem", "recipe", "optimizer", "training", "stop", "record", "seed"})
    if (!tree.find(key))
      throw Error(where, fmt::format("the configuration is damaged: '{}' is missing", key));
  options::read(config, "config", tree);
  config.optimizer.validate();
  if (config.record.record_every < 1 || config.record.validate_every < 1)
    throw Error(where, "record_every and validate_every must be at least 1");
  return config;
}

}  // namespace

Config config_from_json(const Json& json) { return config_from(json, {}, {"config.json", 0, 0}); }

Config config_from_text(std::string_view text, const std::string& file) {
  return config_from(parse_json(text, file), text, {file, 0, 0});
}

std::uint64_t identity(const Config& config) {
  Json json = to_json(config);
  json.erase("stop");
  json.erase("lather");
  if (config.shards > 0) json.erase("threads");  // the results do not depend on them then
  // Planned steps matter if they are divided among stages.
  if (config.training.time_windows.windows() == 1 && !config.training.continuation &&
      config.training.corrections.count == 0)
    json["training"].erase("steps");
  return checksum(json.dump());
}

}  // namespace lather::train
