#include "lather/capi/settings.hpp"

#include <fmt/format.h>

#include "lather/train/run_folder/run_folder.hpp"

namespace lather::capi {

namespace {

using Json = nlohmann::json;

const std::vector<std::pair<std::string_view, optim::Role>> kRoles = {
    {"hidden", optim::Role::hidden}, {"input", optim::Role::input}, {"output", optim::Role::output},
    {"bias", optim::Role::bias},     {"gate", optim::Role::gate},   {"unknown", optim::Role::unknown}};

struct LimitSettings {
  std::optional<std::int64_t> steps, patience;
  std::optional<double> seconds;
  std::string target;
  void fields(FieldVisitor& v) {
    std::int64_t whole = 0;
    double number = 0;
    const auto integer = [&](const char* name, std::optional<std::int64_t>& value, Range range) {
      whole = value.value_or(kNone);
      v.integer(name, whole, "", range);
      if (whole != kNone) value = whole;
    };
    integer("steps", steps, at_least(1));
    integer("patience", patience, non_negative());
    number = seconds.value_or(-1);
    v.real("seconds", number, "", non_negative());
    if (number >= 0) seconds = number;
    v.text("target", target, "METRIC=VALUE, such as l2=1e-6");
  }
  train::NewLimits limits() const {
    train::NewLimits result{steps, patience, seconds, {}};
    if (!target.empty()) result.target = train::parse_target(target);
    return result;
  }

 private:
  static constexpr std::int64_t kNone = -1;
};

struct RunSettings {
  std::string recipe, optimizer;
  std::uint64_t seed = 0;
  std::int64_t threads = 0;
  pde::Precision precision = pde::Precision::float64;
  Device device = Device::cpu;
  LimitSettings limits;
  void fields(FieldVisitor& v) {
    v.text("recipe", recipe, "");
    v.text("optimizer", optimizer, "");
    v.natural("seed", seed, "");
    v.integer("threads", threads, "", between(0, 4096));
    v.choice("precision", precision, "",
             {{"float64", pde::Precision::float64}, {"float32", pde::Precision::float32}});
    v.choice("device", device, "", {{"cpu", Device::cpu}, {"cuda", Device::cuda}});
    limits.fields(v);
  }
};

struct BlockSettings {
  std::string name;
  std::int64_t rows = 0, cols = 0, size = 0;
  std::string role;
  void fields(FieldVisitor& v) {
    std::vector<std::string> roles;
    for (const auto& [word, role_of_word] : kRoles) roles.emplace_back(word);
    v.text("name", name, "");
    v.integer("rows", rows, "of a matrix", non_negative());
    v.integer("cols", cols, "of a matrix", non_negative());
    v.integer("size", size, "of a vector", non_negative());
    v.word("role", role, "", roles);
  }
  void add_to(optim::ParameterLayout& layout) const {
    const bool matrix = rows > 0 && cols > 0 && size == 0, vector = size > 0 && rows == 0 && cols == 0;
    if (!matrix && !vector)
      throw Error(fmt::format("block '{}': expected rows and cols (a matrix) or size (a vector)", name));
    auto chosen = matrix ? optim::Role::hidden : optim::Role::bias;
    for (const auto& [word, role_of_word] : kRoles)
      if (word == role) chosen = role_of_word;
    if (matrix)
      layout.add_matrix(name, static_cast<std::size_t>(rows), static_cast<std::size_t>(cols), chosen);
    else
      layout.add_vector(name, static_cast<std::size_t>(size), chosen);
  }
};

void flatten(const Json& tree, const std::string& prefix, std::vector<pde::Override>& out) {
  for (const auto& [key, value] : tree.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object())
      flatten(value, path, out);
    else
      out.push_back({path, toml_text(value)});
  }
}

}  // namespace

Json parse_object(const char* text, const std::string& name) {
  if (!text || !*text) return Json::object();
  Json json = train::parse_json(text, name);
  if (!json.is_object()) throw Error(name + ": expected a JSON object");
  return json;
}

std::vector<pde::Override> read_changes(const Json& changes) {
  if (!changes.is_object()) throw Error("set: expected an object of paths and values");
  std::vector<pde::Override> list;
  flatten(changes, "", list);
  return list;
}

train::ConfigRequest read_settings(const char* text, const train::ProblemSource& problem) {
  Json json = parse_object(text, "settings");
  train::ConfigRequest request;
  request.problem = problem.file;
  request.text = problem.text;
  if (const auto changes = json.find("set"); changes != json.end()) {
    request.settings = read_changes(*changes);
    json.erase(changes);
  }
  const auto settings = options::from_json<RunSettings>("settings", json);
  request.recipe = settings.recipe;
  request.optimizer = settings.optimizer;
  request.seed = settings.seed;
  request.threads = static_cast<int>(settings.threads);
  request.precision = settings.precision;
  request.device = settings.device;
  const auto limits = settings.limits.limits();
  request.steps = limits.steps;
  request.seconds = limits.seconds;
  request.target = limits.target;
  request.patience = limits.patience.value_or(0);
  return request;
}

train::NewLimits read_limits(const char* text) {
  return options::from_json<LimitSettings>("limits", parse_object(text, "limits")).limits();
}

optim::ParameterLayout read_blocks(const char* text) {
  const Json json = train::parse_json(required_text(text, "blocks"), "blocks");
  if (!json.is_array() || json.empty()) throw Error("blocks: expected a list with at least one block");
  optim::ParameterLayout layout;
  for (const auto& block : json) {
    if (!block.is_object()) throw Error("blocks: expected objects with name, rows and cols, or size");
    options::from_json<BlockSettings>("block", block).add_to(layout);
  }
  return layout;
}

Json blocks_json(const optim::ParameterLayout& layout) {
  Json list = Json::array();
  for (const auto& block : layout.blocks()) {
    std::string role;
    for (const auto& [word, role_of_word] : kRoles)
      if (role_of_word == block.role) role = word;
    list.push_back({{"name", block.name},
                    {"offset", block.offset},
                    {"rows", block.rows},
                    {"cols", block.cols},
                    {"matrix", block.matrix},
                    {"role", role}});
  }
  return list;
}

}  // namespace lather::capi
