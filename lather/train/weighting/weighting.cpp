#include "lather/train/weighting/weighting.hpp"

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/train/weighting/point_weighting.hpp"
#include "lather/train/weighting/term_weighting.hpp"

namespace lather::train {

namespace {

// The problem's own weights, as the objective has them from the start.
class FixedWeighting final : public Weighting {
 public:
  bool update(std::int64_t, pde::PinnObjective&, std::span<const double>) override { return false; }
  std::int64_t next_change(std::int64_t) const override { return kNever; }
  void state(StateVisitor&) override {}
  std::string describe() const override { return "fixed"; }
};

// Point weights first: gradient norms depend on them.
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

std::unique_ptr<Weighting> without_causal(const WeightingOptions& options, const pde::Problem& problem) {
  switch (options.method) {
    case WeightingMethod::fixed: break;
    case WeightingMethod::gradient_norm:
      return std::make_unique<GradientNormWeighting>(options.terms, problem);
    case WeightingMethod::ntk: return std::make_unique<NtkWeighting>(options.terms, problem);
    case WeightingMethod::balance: return std::make_unique<BalanceWeighting>(options.balance, problem);
    case WeightingMethod::self_adaptive:
      return std::make_unique<SelfAdaptiveWeighting>(options.self_adaptive, problem);
    case WeightingMethod::causal: return std::make_unique<CausalWeighting>(options.causal, problem);
  }
  return std::make_unique<FixedWeighting>();
}

}  // namespace

std::unique_ptr<Weighting> make_weighting(const WeightingOptions& options,
                                          const std::optional<CausalOptions>& causal,
                                          const pde::Problem& problem) {
  auto weighting = without_causal(options, problem);
  if (!causal || causal->off()) return weighting;
  if (options.method == WeightingMethod::causal) throw Error("weighting: causal weights are requested twice");
  if (options.method == WeightingMethod::self_adaptive)
    throw Error(
        "weighting: self-adaptive and causal weights are both weights of the same points; choose one");
  auto in_time = std::make_unique<CausalWeighting>(*causal, problem);
  if (options.method == WeightingMethod::fixed) return in_time;
  return std::make_unique<CausalAndTerms>(std::move(in_time), std::move(weighting));
}

}  // namespace lather::train
