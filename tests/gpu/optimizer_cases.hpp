#pragma once
// Settings that reach every branch of the optimizers on the
// GPU, and how closely their steps follow the host's.

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace lather::optim::testing_support {

// Relative to the largest change of a parameter. Both sides see the same gradients, so nothing feeds rounding
// errors back.
enum class Agreement {
  // Sums and quotients of the same numbers, added in a different order.
  elementwise,
  // Eigenvectors differ by rounding over the gap between eigenvalues, here at least 1e-4 of the largest (the
  // spectra of SeparatedGradients), and Adam's quotient scales entries of 1e-3 of the largest up to 1.
  eigenvectors,
  // A basis of the very first gradient turns that gradient into a diagonal matrix:
  // what is off the diagonal is rounding of two products, some 1e-15 of the largest
  // entry, and an epsilon of 1e-8 lets some 1e-7 of a step through.
  first_gradient,
};

inline double tolerance(Agreement agreement) {
  switch (agreement) {
    case Agreement::elementwise: return 1e-12;
    case Agreement::eigenvectors: return 1e-10;
    case Agreement::first_gradient: return 1e-6;
  }
  return 0;
}

struct Case {
  const char* name;
  nlohmann::json settings;
  Agreement agreement = Agreement::elementwise;
};
inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// Factors have full rank after as many gradients as a side is long: bases are requested then. SOAP takes its
// first basis from one gradient, but uses it for the next.
inline std::vector<Case> optimizer_cases() {
  using Json = nlohmann::json;
  std::vector<Case> cases = {
      {"adam", {{"name", "adam"}}},
      {"amsgrad", {{"name", "adamw"}, {"amsgrad", true}}},
      {"adam_coupled_decay", {{"name", "adam"}, {"weight_decay", 0.1}}},
      {"clipped_by_value", {{"name", "sgd"}, {"clip", {{"by", "value"}, {"limit", 0.05}}}}},
      {"scheduled", {{"name", "adam"}, {"schedule", {{"decay", "cosine"}, {"total_steps", 30}}}}},
      {"sgd", {{"name", "sgd"}, {"dampening", 0.1}}},
      {"sgd_nesterov_decay", {{"name", "sgd"}, {"nesterov", true}, {"weight_decay", 0.01}}},
      {"sgd_plain", {{"name", "sgd"}, {"momentum", 0}, {"dampening", 0.1}}},
      {"muon", {{"name", "muon"}}},
      {"muon_all",
       {{"name", "muon"},
        {"matrices", "all"},
        {"rows", "outputs"},
        {"nesterov", false},
        {"newton_schulz_steps", 4},
        {"weight_decay", 0.01},
        {"adam_learning_rate_ratio", 0.2}}},
      {"muon_every_third", {{"name", "muon"}, {"orthogonalization_frequency", 3}}},
      {"multiadam", {{"name", "multiadam"}}},
      {"multiadam_one_group",
       {{"name", "multiadam"}, {"groups", {0, 0}}, {"group_weights", {0.7}}, {"weight_decay", 0.01}}},
      {"ss_esoap_first_gradient", {{"name", "ss-esoap"}}, Agreement::first_gradient},
  };
  const auto add = [&](const char* name, Json settings) {
    cases.push_back({name, std::move(settings), Agreement::eigenvectors});
  };
  const auto esoap = [&](const char* name, Json settings) {
    Json all = {{"name", "ss-esoap"}, {"warmup_steps", 8}, {"trigger", 0.05}};
    all.update(settings);
    add(name, all);
  };
  esoap("ss_esoap", Json::object());
  esoap("ss_esoap_paper", {{"name", "ss-esoap-paper"}});
  esoap("ss_esoap_clipped", {{"clip", {{"limit", 0.2}}}});
  esoap("ss_esoap_decay", {{"weight_decay", 0.01}, {"tau_scope", "global"}});
  esoap("ss_esoap_shampoo_reset",
        {{"secant_metric", "shampoo"}, {"variance_transition", "reset"}, {"check_interval", 3}});
  esoap("ss_esoap_oren_luenberger_per_factor",
        {{"secant_metric", "oren-luenberger"}, {"trigger_rule", "per-factor"}, {"trigger", 0.2}});
  esoap("ss_esoap_identity", {{"secant_metric", "identity"}, {"tau_min", 1e-3}, {"tau_max", "inf"}});
  esoap("ss_esoap_momentum", {{"inner_update", "momentum"}, {"precondition_vectors", true}});
  esoap("ss_esoap_one_sided", {{"max_dimension", 5}});
  esoap(
      "ss_esoap_kronecker_reset_both",
      {{"secant_metric", "kronecker-root"}, {"variance_transition", "reset-both"}, {"correct_bias", false}});
  esoap("ss_esoap_bounded", {{"variance_transition", "downscale"}, {"tau_power", -0.5}});
  esoap("ss_esoap_permute", {{"variance_transition", "permute"}});
  esoap("ss_esoap_permute_per_factor",
        {{"variance_transition", "permute"}, {"trigger_rule", "per-factor"}, {"trigger", 0.2}});
  esoap("ss_esoap_reproject_squared",
        {{"variance_transition", "reproject-squared"}, {"trigger_rule", "per-factor"}, {"trigger", 0.2}});
  esoap("ss_esoap_reproject", {{"variance_transition", "reproject"}});
  add("soap", {{"name", "soap"}, {"weight_decay", 0.01}, {"precondition_frequency", 8}});
  add("soap_normalized", {{"name", "soap"},
                          {"normalize_gradients", true},
                          {"precondition_vectors", true},
                          {"precondition_frequency", 9}});
  add("soap_short_sides", {{"name", "soap"}, {"max_dimension", 6}, {"precondition_frequency", 8}});
  add("purifying_shampoo",
      {{"name", "purifying-shampoo"}, {"precondition_frequency", 9}, {"start_preconditioning_step", 9}});
  add("purifying_shampoo_always",
      {{"name", "purifying-shampoo"}, {"tolerance", 0}, {"start_preconditioning_step", 8}});
  add("purifying_shampoo_sums", {{"name", "purifying-shampoo"},
                                 {"beta2", 1},
                                 {"precondition_vectors", true},
                                 {"tolerance", 0.01},
                                 {"start_preconditioning_step", 8}});
  add("shampoo", {{"name", "shampoo"}, {"precondition_frequency", 8}, {"weight_decay", 0.01}});
  add("shampoo_alone", {{"name", "shampoo"},
                        {"grafting", "none"},
                        {"precondition_vectors", true},
                        {"precondition_frequency", 9},
                        {"epsilon", 1e-6}});
  add("shampoo_sums", {{"name", "shampoo"},
                       {"beta2", 1},
                       {"correct_bias", false},
                       {"max_dimension", 6},
                       {"start_preconditioning_step", 8}});
  return cases;
}

}  // namespace lather::optim::testing_support
