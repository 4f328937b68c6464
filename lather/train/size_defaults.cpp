#include "lather/train/size_defaults.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/whole_number.hpp"
#include "lather/optim/least_squares/output_layer/features.hpp"
#include "lather/symbolic/differentiate.hpp"
#include "lather/train/family_defaults.hpp"
#include "lather/train/needs.hpp"
#include "lather/train/recipe.hpp"

namespace lather::train {

namespace {

using Json = nlohmann::json;

struct NetworkSize {
  std::int64_t width, depth;
};

// Measured: `lm` with 20×4 and 4,096 adaptive points solved seven of eight problems in 45 s on two cores;
// 16×3 takes the heat equation to 7e-7 in 5 s on one.
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

// Conditions that hold only at the initial time can be handed from window to window.
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

// Whether to solve for the output layer alone: nothing asks for a network or a method that would have to be
// trained.
bool is_for_linear(const pde::Problem& problem, bool linear, const TomlValue* network,
                   const std::string& asked_method) {
  if (!asked_method.empty()) return asked_method == "linear";
  const auto says = [&](const char* key) { return network && network->find(key); };
  return linear && problem.unknowns.empty() && problem.dimensions() <= 3 && !says("width") &&
         !says("depth") && !says("type") && !says("networks") && !says("initialization") && !says("train");
}

// How many features `linear` gets: seconds on two cores, or on a GPU.
std::int64_t feature_count(const pde::Problem& problem, Device device) {
  const int dimensions = problem.dimensions();
  const std::int64_t one_output = dimensions == 1 ? 200 : dimensions == 2 ? 1000 : 1600;
  return std::max<std::int64_t>(200, one_output * (device == Device::cuda ? 2 : 1) / problem.outputs());
}

std::int64_t integer_or(const TomlValue* table, std::string_view key, std::int64_t otherwise) {
  const TomlValue* found = table ? table->find(key) : nullptr;
  if (!found || !found->is_number()) return otherwise;
  return whole_number(found->real).value_or(otherwise);
}

NetworkSize with_given_size(const TomlValue* network, const NetworkSize& otherwise) {
  return {integer_or(network, "width", otherwise.width), integer_or(network, "depth", otherwise.depth)};
}

// For a number of residuals that is wanted.
std::int64_t interior_points(std::int64_t rows) {
  return std::clamp<std::int64_t>((rows + 511) / 512 * 512, 1024, 65536);
}

// Points of the largest set that has a number of its own.
std::optional<std::int64_t> largest_given_set(const TomlValue* own, const TomlValue& asked) {
  std::int64_t given = 0;
  for (const TomlValue* table : {own, &asked})
    if (const TomlValue* points = table ? table->find("points") : nullptr; points && points->is_table())
      for (const auto& entry : points->entries) given = std::max(given, integer_or(points, entry.key, 0));
  return given > 0 ? std::optional(given) : std::nullopt;
}

// The method that the file or an option names, in either of the two ways.
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
    if (!is_asked(key)) explain(std::move(reason));
  }
  // Whether options set it; for `optimizer`, whether they name the method.
  bool is_asked(const std::string& key) const {
    if (key == "optimizer") return !own_method(&asked_).empty();
    return asked_.find(key) || (key == "sampling" && asked_.find("resample_every"));
  }
  void explain(std::string reason) {
    if (!reason.empty()) reasons.push_back(std::move(reason));
  }
  SizeDefaults as_recipe(const TomlValue* training, std::string family = "") const {
    const SourceLocation where = training ? training->where : SourceLocation{};
    return {toml_from_json(Json{{"training", {{"quick", layer}}}}, where), reasons, std::move(family)};
  }

 private:
  Json layer = Json::object();
  std::vector<std::string> reasons;
  const TomlValue* own_;
  const TomlValue& asked_;
};

// Why there are no windows.
std::string one_window(const pde::Problem& problem, bool linear) {
  if (!has_initial_condition(problem))
    return "no time windows: no condition at an initial time t to hand over";
  if (linear) return "one time window: linear";
  return fmt::format("one time window: nonlinear, but in time and {} further dimension{}",
                     problem.dimensions() - 1, problem.dimensions() == 2 ? "" : "s");
}

// Whether the file or the options define the windows.
bool has_own_windows(const TomlValue* training, const TomlValue& asked) {
  if (training && training->find("time_windows")) return true;
  const TomlValue* windows = asked.find("time_windows");
  return windows && (!windows->is_table() || windows->find("count") || windows->find("edges"));
}

// Settings by family, for a method that is not chosen by the size of the problem.
SizeDefaults by_family(const TomlValue& root, const pde::Problem& problem, const std::string& method,
                       const TomlValue& asked, const std::string& why_the_method) {
  const TomlValue *training = root.find("training"), *network = root.find("network");
  Choices chosen(training, asked);
  const std::string family(name_of(optim::find_optimizer(method).family));
  Json optimizer = optimizer_of_family(method).to_json(), recipe = recipe_for(method).to_json();
  chosen.explain(why_the_method);
  const TomlValue* asked_optimizer = asked.find("optimizer");
  const auto takes = [&](const char* key) {
    return optimizer.contains(key) && !(asked_optimizer && asked_optimizer->find(key));
  };
  if (takes("learning_rate"))
    chosen.explain(fmt::format("learning rate {:g}{}: for {} methods",
                               optimizer["learning_rate"].get<double>(),
                               takes("schedule") ? " with a cosine schedule" : "", family));
  else if (takes("schedule"))
    chosen.explain(fmt::format("cosine schedule: for {} methods", family));
  optimizer["name"] = method;
  chosen.choose("optimizer", std::move(optimizer), "");

  const auto given = [&](const char* key) { return network && network->find(key); };
  Json size = recipe["network"];
  const auto number = [&](const char* key) {
    return integer_or(network, key, size[key].get<std::int64_t>());
  };
  const std::string words = fmt::format("network {}×{}", number("width"), number("depth"));
  const bool own = given("width") && given("depth");
  for (const char* key : {"width", "depth"})
    if (given(key)) size.erase(key);
  if (!size.empty()) chosen.choose("network", size, "");
  if (!own && !asked.find("network")) chosen.explain(fmt::format("{}: for {} methods", words, family));

  Json points = Json::object();
  for (const auto& set : problem.point_sets)
    if (set.kind == pde::PointSet::Kind::interior) points[set.name] = recipe["points"]["interior"];
  if (!points.empty())
    chosen.choose(
        "points", points,
        fmt::format("{} interior points: for {} methods", recipe["points"]["interior"].dump(), family));
  const auto every = recipe["sampling"]["every"].get<std::int64_t>();
  chosen.choose("sampling", recipe["sampling"],
                every > 0 ? fmt::format("drawn every {} steps: for {} methods", every, family)
                          : fmt::format("drawn once: for {} methods", family));
  chosen.choose("steps", recipe["steps"],
                fmt::format("{} steps: for {} methods", recipe["steps"].dump(), family));
  return chosen.as_recipe(training, fmt::format("settings of {} methods", family));
}

// Methods whose settings follow the size of the problem.
bool goes_by_size(const std::string& method) {
  const auto& entry = optim::find_optimizer(method);
  return entry.family == optim::Family::least_squares || entry.hidden_layers == optim::HiddenLayers::drawn;
}

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
                           const TomlValue& asked, bool single_precision, double seconds) {
  const TomlValue *training = root.find("training"), *network = root.find("network");
  const std::string method = own_method(training);
  const auto recipes = recipe_names(root);
  if (std::find(recipes.begin(), recipes.end(), "quick") != recipes.end() ||
      (!method.empty() && method != "lm" && method != "linear"))
    return {};
  const std::string wanted = own_method(&asked);
  if (!wanted.empty() && !goes_by_size(wanted))
    return method.empty() ? by_family(root, problem, wanted, asked, "") : SizeDefaults{};
  if (wanted.empty() && method.empty() && single_precision)
    return by_family(root, problem, "ss-esoap", asked,
                     "method ss-esoap: least-squares methods need float64, and this is float32");

  Choices chosen(training, asked);
  const bool linear = is_linear(problem), cuda = device == Device::cuda;
  const int dimensions = problem.dimensions();
  bool features = is_for_linear(problem, linear, network, !method.empty() ? method : wanted);
  if (method.empty() && wanted.empty() && !cuda) {
    const auto given = largest_given_set(training, asked);
    std::string why;
    if (features) {
      const std::int64_t columns = (feature_count(problem, device) + 1) * problem.outputs();
      why = why_not("linear", columns, given.value_or(interior_points(4 * columns)), seconds);
      features = why.empty();
    }
    if (!features) {
      const auto n = parameters_of(problem, with_given_size(network, network_size(problem, linear, device)));
      const auto too = why_not("lm", n, given.value_or(interior_points(3 * n)), seconds);
      if (!too.empty())
        return by_family(root, problem, "ss-esoap", asked,
                         "method ss-esoap: " + (why.empty() ? too : why + "; " + too));
    }
    chosen.explain(why);
  }
  if (method.empty())
    chosen.choose("optimizer", features ? "linear" : "lm",
                  features
                      ? "method linear: equations and conditions are linear, so one least-squares solution "
                        "of the output layer is all training there is (--optimizer lm trains all layers)"
                      : "method lm: the loss is a sum of squares, and the network is small enough for its "
                        "matrix");

  const NetworkSize proposed =
      features ? NetworkSize{feature_count(problem, device), 1} : network_size(problem, linear, device);
  const NetworkSize size = with_given_size(network, proposed);
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
  const std::int64_t rows =
      (features ? 4 : 3) * parameters / std::max<std::int64_t>(1, equations_in(problem));
  const std::int64_t interior = interior_points(rows);
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
                  adaptive ? "drawn every 10 steps where the residual is large: fixed points would be "
                             "fitted, not the equation"
                           : "drawn every 10 steps: fixed points would be fitted, not the equation");

  const bool windows =
      dimensions > 2 && !linear && has_initial_condition(problem) && !has_own_windows(training, asked);
  constexpr int kWindows = 4;
  chosen.choose("time_windows", windows ? kWindows : 1,
                windows ? fmt::format("{} time windows: nonlinear in time and {} further dimensions",
                                      kWindows, dimensions - 1)
                        : one_window(problem, linear));
  // No target: a window is improved for as long as it can be.
  if (windows)
    chosen.choose(
        "stages", Json{{"plateau", 10}, {"unsolved", "prolong"}, {"tries", 1}},
        "a window ends early when 10 validations have not improved it, and is prolonged once when it is "
        "not solved");
  if (features) {
    chosen.choose("steps", 2, "2 steps: the first solves, the second sees that it did");
    return chosen.as_recipe(training);
  }
  const std::int64_t steps = (cuda ? 3000 : dimensions > 2 ? 300 : 400) * (windows ? 2 : 1);
  chosen.choose("steps", steps, fmt::format("{} steps: minutes on {}", steps, cuda ? "a GPU" : "two cores"));

  return chosen.as_recipe(training);
}

std::string warn_of_few_residuals(const pde::Problem& problem, const TrainingOptions& training,
                                  const optim::OptimizerSpec& optimizer,
                                  const optim::ParameterLayout& layout) {
  const auto& entry = optim::find_optimizer(optimizer.name);
  if (entry.family != optim::Family::least_squares && entry.family != optim::Family::output_layer) return "";
  const bool drawn = entry.hidden_layers == optim::HiddenLayers::drawn;
  const std::size_t parameters = drawn ? optim::output_columns(layout).size() : layout.size();
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
      "or more, or fewer windows (--set training.time_windows=…)",
      training.steps, windows, windows);
}

}  // namespace lather::train
