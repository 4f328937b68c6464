#include "optim/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/optim/catalogue.hpp"
#include "optim/replay/quasi_newton.hpp"

namespace lather::optim {

using Json = nlohmann::json;

namespace {

const Json& need(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end()) throw Error("recorded trajectory has no '" + key + "'");
  return *found;
}

void append_numbers(const Json& nested, std::vector<double>& flat) {
  if (nested.is_array()) {
    for (const auto& item : nested) append_numbers(item, flat);
  } else if (nested.is_number()) {
    flat.push_back(nested.get<double>());
  } else {
    // Python's json module writes NaN and Infinity as bare words that our parser rejects; anything else is a
    // broken file.
    throw Error("recorded trajectory: expected a number, got " + nested.dump());
  }
}

// One list of tensors, flattened in layout order.
std::vector<double> flatten(const Json& tensors, std::size_t expected, const std::string& what) {
  std::vector<double> flat;
  append_numbers(tensors, flat);
  if (flat.size() != expected)
    throw Error(fmt::format("recorded trajectory: {} holds {} numbers, the shapes say {}", what, flat.size(),
                            expected));
  return flat;
}

ParameterLayout layout_of(const Json& shapes) {
  ParameterLayout layout;
  for (const auto& shape : shapes) {
    const auto name = "p" + std::to_string(layout.blocks().size());
    if (shape.size() == 2)
      layout.add_matrix(name, shape[0].get<std::size_t>(), shape[1].get<std::size_t>());
    else if (shape.size() == 1)
      layout.add_vector(name, shape[0].get<std::size_t>());
    else if (shape.empty())
      layout.add_scalar(name);
    else
      throw Error("recorded trajectory: shape " + shape.dump() +
                  " is neither a matrix, a vector nor a scalar");
  }
  return layout;
}

// Returns the recorded gradients one after another, at whatever point it is asked.
class RecordedGradients final : public Objective {
 public:
  RecordedGradients(const ParameterLayout& layout, const Json& gradients)
      : layout_(layout), gradients_(gradients) {}
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double>) override { return 0; }
  double value_and_gradient(std::span<const double>, std::span<double> gradient) override {
    const auto flat = flatten(gradients_.at(next_++), layout_.size(), "a gradient");
    std::copy(flat.begin(), flat.end(), gradient.begin());
    return 0;
  }

 private:
  const ParameterLayout& layout_;
  const Json& gradients_;
  std::size_t next_ = 0;
};

std::string optimizer_of(const std::string& text) {
  const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
  // From the most specific name to the most general: "Shampoo … with Adam grafting" is not Adam.
  if (says("eigenvalue-corrected") || says("eshampoo") || says("purifying")) return "purifying-shampoo";
  if (says("shampoo")) return "shampoo";
  if (says("soap")) return "soap";
  if (says("muon")) return "muon";
  if (says("multiadam")) return "multiadam";
  if (says("adamw")) return "adamw";
  if (says("adam")) return "adam";
  if (says("sgd") || says("momentum")) return "sgd";
  throw Error("recorded trajectory: unknown optimizer '" + text + "'");
}

}  // namespace

ReplayMethod replay_method(const Json& recorded) {
  const auto name =
      optimizer_of(lower_case(recorded.value("case", "") + " " + recorded.value("reference", "")));
  static const std::map<std::string, std::string> words = {
      {"lr", "learning_rate"},
      {"eps", "epsilon"},
      {"wd", "weight_decay"},
      {"frequency", "precondition_frequency"},
      {"start", "start_preconditioning_step"},
      {"tol", "tolerance"},
      {"ns_steps", "newton_schulz_steps"},
      {"max_iterations", "qr_iterations"},
      {"grafting_eps", "grafting_epsilon"},
      {"precondition_1d", "precondition_vectors"},
      {"normalize_grads", "normalize_gradients"},
      {"shampoo_beta", "factor_beta"},
      {"max_precond_dim", "max_dimension"},
      {"max_preconditioner_dim", "max_dimension"},
      {"use_bias_correction", "correct_bias"},
  };
  Json settings = Json::object();
  // Where a reference differs from our defaults; the file's own hyper-parameters are applied later and win.
  if (name == "shampoo" || name == "purifying-shampoo") settings["precondition_vectors"] = true;
  if (name == "muon") settings.update({{"matrices", "all"}, {"rows", "outputs"}});
  const Json hyper = recorded.value("hyper", Json::object());
  for (const auto& [key, value] : hyper.items()) {
    if (key == "betas" && value.is_array() && value.size() == 2) {
      settings["beta1"] = value[0];
      settings["beta2"] = value[1];
      continue;
    }
    const auto word = words.find(key);
    settings[word == words.end() ? key : word->second] = value;
  }
  return {name, settings.dump()};
}

ReplayResult replay_gradients(const Json& recorded) {
  if (recorded.value("kind", "") != "gradient-replay")
    throw Error("expected a recorded trajectory of kind 'gradient-replay', got '" +
                recorded.value("kind", "") + "'");
  const auto method = replay_method(recorded);
  const auto layout = layout_of(need(recorded, "shapes"));
  const Json &gradients = need(recorded, "gradients"), &parameters = need(recorded, "parameters");
  if (gradients.size() != parameters.size())
    throw Error(fmt::format("recorded trajectory: {} gradients but {} sets of parameters", gradients.size(),
                            parameters.size()));

  const auto& entry = find_optimizer(method.optimizer);
  const auto optimizer = entry.construct(layout, entry.options(Json::parse(method.settings)));
  RecordedGradients objective(layout, gradients);
  auto x = flatten(need(recorded, "init"), layout.size(), "init");
  ReplayResult result{recorded.value("case", ""), method.optimizer, 0,
                      need(recorded, "tolerance").get<double>(), 0};
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    optimizer->step(objective, x);
    const auto expected = flatten(parameters[t], layout.size(), "parameters");
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double deviation = std::abs(x[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
      if (!(deviation <= result.deviation)) {  // catches NaN too
        result.deviation = std::isnan(deviation) ? HUGE_VAL : deviation;
        result.worst_step = t + 1;
      }
    }
  }
  return result;
}

}  // namespace lather::optim
