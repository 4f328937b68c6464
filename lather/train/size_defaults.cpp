#include "lather/train/size_defaults.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/symbolic/differentiate.hpp"
#include "lather/train/recipe.hpp"

namespace lather::train {

namespace {

using Json = nlohmann::json;

struct NetworkSize {
  std::int64_t width, depth;
};

// Measured: `lm` with 20×4 and 4,096 adaptive points solved seven problems of eight in 45 s of two cores;
// 16×3 takes the heat equation to 7e-7 in 5 s of one.
NetworkSize network_size(const pde::Problem& problem, bool linear, Device device) {
  const int dimensions = problem.dimensions();
  const bool simple = linear && problem.outputs() == 1 && dimensions <= 2;
  if (device == Device::cuda)
    return dimensions == 1 ? NetworkSize{24, 3} : NetworkSize{dimensions > 2 ? 48 : 40, 4};
  if (dimensions == 1) return {16, 3};
  return simple ? NetworkSize{20, 3} : NetworkSize{dimensions > 2 ? 24 : 20, 4};
}

std::int64_t parameters_of(const pde::Problem& problem, const NetworkSize& n) {
  const auto inputs = static_cast<std::int64_t>(problem.network_inputs.size());
  return (inputs + 1) * n.width + (n.depth - 1) * (n.width + 1) * n.width + (n.width + 1) * problem.outputs();
}

std::int64_t equations_in(const pde::Problem& problem) {
  return std::count_if(problem.terms.begin(), problem.terms.end(), [&](const pde::Term& t) {
    return problem.point_sets[t.point_set].kind == pde::PointSet::Kind::interior;
  });
}

// Conditions at the initial time alone can be handed from window to window.
bool has_initial_condition(const pde::Problem& problem) {
  const auto& names = problem.symbols->coordinate_names();
  const auto at = std::find(names.begin(), names.end(), "t");
  if (at == names.end()) return false;
  const auto t = static_cast<std::size_t>(at - names.begin());
  return std::any_of(problem.point_sets.begin(), problem.point_sets.end(), [&](const pde::PointSet& set) {
    return set.kind == pde::PointSet::Kind::boundary && !set.pieces.empty() &&
           std::all_of(set.pieces.begin(), set.pieces.end(),
                       [&](const pde::Piece& p) { return p[t] == problem.domain[t].low; });
  });
}

// Whether the output layer alone may be solved for: nothing is said about a network or a method that would have to
// be trained.
bool is_for_linear(const pde::Problem& problem, bool linear, const TomlValue* network,
                   const std::string& asked_method) {
  if (!asked_method.empty()) return asked_method == "linear";
  const auto says = [&](const char* key) { return network && network->find(key); };
  return linear && problem.unknowns.empty() && problem.dimensions() <= 3 && !says("width") &&
         !says("depth") && !says("type") && !says("networks") && !says("initialization") && !says("train");
}

// Features of `linear`, and how many of them: seconds on two cores, or on a GPU.
std::int64_t feature_count(const pde::Problem& problem, Device device) {
  const int dimensions = problem.dimensions();
  const std::int64_t one_output = dimensions == 1 ? 200 : dimensions == 2 ? 1000 : 1600;
  return std::max<std::int64_t>(200, one_output * (device == Device::cuda ? 2 : 1) / problem.outputs());
}

std::int64_t integer_or(const TomlValue* table, std::string_view key, std::int64_t otherwise) {
  const TomlValue* found = table ? table->find(key) : nullptr;
  return found && found->kind == TomlValue::Kind::integer ? found->integer : otherwise;
}

// A method the file names itself, in any of the two ways.
std::string own_method(const TomlValue* training) {
  const TomlValue* optimizer = training ? training->find("optimizer") : nullptr;
  if (optimizer && optimizer->is_table()) optimizer = optimizer->find("name");
  return optimizer && optimizer->is_text() ? optimizer->text.text : "";
}

class Choices {
 public:
  Choices(const TomlValue* own, const TomlValue& asked) : own_(own), asked_(asked) {}
  // Unless [training] has the key.
  void choose(const std::string& key, Json value, std::string reason) {
    if (own_ && (own_->find(key) || (key == "sampling" && own_->find("resample_every")))) return;
    layer[key] = std::move(value);
    if (!asked_.find(key)) reasons.push_back(std::move(reason));
  }
  SizeDefaults as_recipe(const TomlValue* training) const {
    const SourceLocation where = training ? training->where : SourceLocation{};
    return {toml_from_json(Json{{"training", {{"quick", layer}}}}, where), reasons};
  }

 private:
  Json layer = Json::object();
  std::vector<std::string> reasons;
  const TomlValue* own_;
  const TomlValue& asked_;
};

}  // namespace

bool is_linear(const pde::Problem& problem) {
  const auto depends_on_output = [&](symbolic::Expr e) {
    const auto symbols = symbolic::symbols_of(std::span(&e, 1));
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](symbolic::Expr s) { return problem.symbols->find(s).has_value(); });
  };
  return std::all_of(problem.terms.begin(), problem.terms.end(), [&](const pde::Term& term) {
    const auto symbols = symbolic::symbols_of(std::span(&term.residual, 1));
    return std::none_of(symbols.begin(), symbols.end(), [&](symbolic::Expr s) {
      return problem.symbols->find(s) && depends_on_output(symbolic::differentiate(term.residual, s));
    });
  });
}

SizeDefaults size_defaults(const TomlValue& root, const pde::Problem& problem, Device device,
                           const TomlValue& asked) {
  const TomlValue *training = root.find("training"), *network = root.find("network");
  const std::string method = own_method(training);
  if (!recipe_names(root).empty() || (!method.empty() && method != "lm" && method != "linear")) return {};

  Choices chosen(training, asked);
  const bool linear = is_linear(problem), cuda = device == Device::cuda;
  const int dimensions = problem.dimensions();
  const TomlValue* asked_for = asked.find("optimizer");
  const bool features = is_for_linear(problem, linear, network,
                                      !method.empty() ? method
                                      : asked_for     ? asked_for->text.text
                                                      : "");
  if (method.empty())
    chosen.choose("optimizer", features ? "linear" : "lm",
                  features
                      ? "method linear: equations and conditions are linear, so one least-squares solution "
                        "of the output layer is all training there is (--optimizer lm trains all layers)"
                      : "method lm: the loss is a sum of squares, and the network is small enough for its "
                        "matrix");

  const NetworkSize proposed =
      features ? NetworkSize{feature_count(problem, device), 1} : network_size(problem, linear, device);
  const NetworkSize size{integer_or(network, "width", proposed.width),
                         integer_or(network, "depth", proposed.depth)};
  Json own_size = Json::object();
  if (!network || !network->find("width")) own_size["width"] = size.width;
  if (!network || !network->find("depth")) own_size["depth"] = size.depth;
  if (features) {
    if (!network || !network->find("activation")) own_size["activation"] = "sin";
    chosen.choose("network", own_size,
                  fmt::format("{} features, sines with random weights: {} coordinate{}, {} output{}, {}",
                              size.width, dimensions, dimensions > 1 ? "s" : "", problem.outputs(),
                              problem.outputs() > 1 ? "s" : "", cuda ? "GPU" : "CPU"));
  } else if (!own_size.empty())
    chosen.choose(
        "network", own_size,
        fmt::format("network {}×{}: {} coordinate{}, {} output{}, {}, {}", size.width, size.depth, dimensions,
                    dimensions > 1 ? "s" : "", problem.outputs(), problem.outputs() > 1 ? "s" : "",
                    linear ? "linear" : "nonlinear", cuda ? "GPU" : "CPU"));

  const std::int64_t parameters =
      features ? (size.width + 1) * problem.outputs() : parameters_of(problem, size);
  const std::int64_t wanted =
      (features ? 4 : 3) * parameters / std::max<std::int64_t>(1, equations_in(problem));
  const std::int64_t interior = std::clamp<std::int64_t>((wanted + 511) / 512 * 512, 1024, 65536);
  const bool adaptive = dimensions > 1;
  Json points = Json::object();
  for (const auto& set : problem.point_sets)
    if (set.kind == pde::PointSet::Kind::interior)
      points[set.name] = interior;
    else if (set.kind == pde::PointSet::Kind::boundary)
      points[set.name] =
          static_cast<std::int64_t>(set.pieces.size()) * (dimensions > 2   ? 512
                                                          : dimensions > 1 ? features ? 256 : 128
                                                                           : 1);
  chosen.choose("points", points,
                fmt::format("{} interior points: about {} residuals for each of {} parameters", interior,
                            features ? "four" : "three", parameters));
  if (features)
    chosen.choose("sampling", Json{{"method", "sobol"}, {"every", 0}}, "drawn once: there is one solution");
  else
    chosen.choose("sampling", Json{{"method", adaptive ? "adaptive" : "sobol"}, {"every", 10}},
                  adaptive
                      ? "drawn every 10 steps where the residual is large: fixed points would be fitted, "
                        "not the equation"
                      : "drawn every 10 steps: fixed points would be fitted, not the equation");

  const bool windows = dimensions > 2 && !linear && has_initial_condition(problem);
  constexpr int kWindows = 4;
  if (windows)
    chosen.choose("time_windows", kWindows,
                  fmt::format("{} time windows: nonlinear in time and {} further dimensions", kWindows,
                              dimensions - 1));
  if (features) {
    chosen.choose("steps", 2, "2 steps: the first solves, the second sees that it did");
    return chosen.as_recipe(training);
  }
  const std::int64_t steps = (cuda ? 3000 : dimensions > 2 ? 300 : 400) * (windows ? 2 : 1);
  chosen.choose("steps", steps, fmt::format("{} steps: minutes on {}", steps, cuda ? "a GPU" : "two cores"));

  return chosen.as_recipe(training);
}

std::string warn_of_few_residuals(const pde::Problem& problem, const TrainingOptions& training,
                                  const optim::OptimizerSpec& optimizer, std::size_t parameters) {
  const auto& entry = optim::find_optimizer(optimizer.name);
  if (entry.family != optim::Family::least_squares && entry.hidden_layers != optim::HiddenLayers::kept)
    return "";
  const auto counts = pde::sampling_settings(training.points, problem).counts;
  std::size_t rows = 0;
  for (const auto& term : problem.terms) {
    const auto& set = problem.point_sets[term.point_set];
    rows += set.kind == pde::PointSet::Kind::data ? set.rows.size() / set.group : counts[term.point_set];
  }
  if (rows >= 2 * parameters) return "";
  const auto equations = static_cast<std::size_t>(std::max<std::int64_t>(1, equations_in(problem)));
  return fmt::format(
      "{} residuals for {} parameters: {} will fit the points and not the equation between them; take --set "
      "training.points.interior={} or a smaller network (network.width, network.depth)",
      rows, parameters, optimizer.name, (3 * parameters / equations + 511) / 512 * 512);
}

std::string warn_of_few_steps(const TrainingOptions& training) {
  const std::int64_t windows = training.time_windows.windows();
  if (training.steps >= windows) return "";
  return fmt::format(
      "{} steps for {} time windows: windows without a step hand over what they began with; take --steps {} "
      "or "
      "more, or fewer windows (--set training.time_windows=…)",
      training.steps, windows, windows);
}

}  // namespace lather::train
