#include "lather/train/weighting/weighting.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/train/weighting/point_weighting.hpp"
#include "lather/train/weighting/term_weighting.hpp"

namespace lather::train {

using Json = nlohmann::json;

namespace {

// The problem's own weights, as the objective has them from the start.
class FixedWeighting final : public Weighting {
 public:
  bool update(std::int64_t, pde::PinnObjective&, std::span<const double>) override { return false; }
  std::int64_t next_change(std::int64_t) const override { return kNever; }
  void state(StateVisitor&) override {}
  std::string describe() const override { return "fixed"; }
};

// Weights of points first: norms of gradients depend on them.
class CausalAndTerms final : public Weighting {
 public:
  CausalAndTerms(std::unique_ptr<Weighting> causal, std::unique_ptr<Weighting> terms)
      : causal_(std::move(causal)), terms_(std::move(terms)) {}
  bool update(std::int64_t step, pde::PinnObjective& objective, std::span<const double> x) override {
    const bool points_changed = causal_->update(step, objective, x);
    return terms_->update(step, objective, x) || points_changed;
  }
  std::int64_t next_change(std::int64_t step) const override {
    return std::min(causal_->next_change(step), terms_->next_change(step));
  }
  void state(StateVisitor& visitor) override {
    causal_->state(visitor);
    terms_->state(visitor);
  }
  std::string describe() const override { return causal_->describe() + "; " + terms_->describe(); }

 private:
  std::unique_ptr<Weighting> causal_, terms_;
};

struct NoOptions {
  void fields(FieldVisitor&) {}
};

struct Method {
  std::string name, summary;
  std::function<std::unique_ptr<Weighting>(const Json& settings, const pde::Problem&)> make;
  std::vector<FieldDescription> options;
};

template <class W, class Options>
Method method(const std::string& name, const std::string& summary, Options) {
  const auto make = [name](const Json& settings, const pde::Problem& problem) -> std::unique_ptr<Weighting> {
    Options chosen;
    options::set_all(chosen, "weighting " + name, settings);
    if constexpr (std::is_same_v<Options, NoOptions>)
      return std::make_unique<W>();
    else
      return std::make_unique<W>(chosen, problem);
  };
  return {name, summary, make, options::describe(Options{})};
}

const std::vector<Method>& methods() {
  static const std::vector<Method> list{
      method<FixedWeighting>("fixed", "the problem's own weights", NoOptions{}),
      method<GradientNormWeighting>("gradient-norm", "terms with small gradients count more",
                                    TermWeightingOptions{}),
      method<NtkWeighting>(
          "ntk", "terms the network learns slowly, by the trace of their tangent kernel, count more",
          TermWeightingOptions{}),
      method<BalanceWeighting>(
          "balance", "weighted losses of all terms are slowly drawn together; for least-squares methods too",
          BalanceOptions{}),
      method<SelfAdaptiveWeighting>("self-adaptive", "every point has a weight that grows with its residual",
                                    SelfAdaptiveOptions{}),
      method<CausalWeighting>("causal", "later times wait for earlier ones; a table or key of its own",
                              CausalOptions{})};
  return list;
}

const Method& find_method(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& m : methods()) {
    if (m.name == name) return m;
    names.push_back(m.name);
  }
  throw Error("weighting: " + unknown_name_message("method", name, names));
}

// The settings of causal weights; null if there are none.
Json causal_settings(const Json& recipe) {
  Json causal = recipe.value("causal", Json());
  if (causal.is_number()) causal = {{"tolerance", causal}};
  if (!causal.is_null() && !causal.is_object())
    throw Error("causal: expected a tolerance or a table, got " + causal.dump());
  if (recipe.contains("causal_tolerance")) {
    if (causal.is_object() && causal.contains("tolerance"))
      throw Error("causal.tolerance and causal_tolerance say the same thing; give one of them");
    causal["tolerance"] = recipe["causal_tolerance"];
  }
  return causal;
}

}  // namespace

std::vector<std::string> weighting_keys() { return {"weighting", "causal", "causal_tolerance"}; }

std::vector<WeightingEntry> weighting_methods() {
  std::vector<WeightingEntry> entries;
  for (const auto& m : methods()) entries.push_back({m.name, m.summary, m.options});
  return entries;
}

std::unique_ptr<Weighting> make_weighting(const Json& recipe, const pde::Problem& problem) {
  Json settings = recipe.value("weighting", Json("fixed"));
  if (settings.is_string()) settings = {{"method", settings}};
  if (!settings.is_object()) throw Error("weighting: expected a method or a table, got " + settings.dump());
  const Json name = settings.value("method", Json("fixed"));
  if (!name.is_string()) throw Error("weighting.method: expected a name, got " + name.dump());
  settings.erase("method");
  const Method& chosen = find_method(name.get<std::string>());
  auto weighting = chosen.make(settings, problem);

  const Json causal = causal_settings(recipe);
  if (causal.is_null()) return weighting;
  if (chosen.name == "causal") throw Error("weighting: causal weights are asked for twice");
  if (chosen.name == "self-adaptive")
    throw Error(
        "weighting: self-adaptive and causal weights are both weights of the same points; choose one");
  auto in_time = find_method("causal").make(causal, problem);
  if (chosen.name == "fixed") return in_time;
  return std::make_unique<CausalAndTerms>(std::move(in_time), std::move(weighting));
}

}  // namespace lather::train
