#pragma once
// Options of SS-eSOAP. The defaults are the setting we recommend (entry "ss-esoap"); paper() has the
// constants and the metric of the paper's Algorithm 2 (entry "ss-esoap-paper"). Four things are ours there
// too: tau_min and T_warm (warmup_steps), for which the paper gives no value; the limit max_dimension; and the
// metric's eigenvalues, which between two basis changes are Rayleigh quotients (secant_eigenvalues = exact
// solves instead). For what the paper leaves open or contradicts itself on, see docs/optimizers.md.

#include "lather/core/options.hpp"
#include "lather/optim/formulas/ss_esoap.hpp"

namespace lather::optim {

enum class SecantEigenvalues { rayleigh, exact };

struct SsEsoapOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95;
  // Departs from the paper: 1e-8 there. PINN gradients fall below 1e-8 while there is still accuracy to gain.
  double epsilon = 1e-20;
  // Not in the paper. Right after a basis change the rotated gradient has entries that are rounding errors
  // (at the first step, all off its diagonal), which Adam would scale up to full steps. A factor is made of
  // squares, so its eigenvectors resolve directions down to sqrt(1e-16) of the largest; below that is noise.
  double relative_epsilon = 1e-8;
  // Departs from the paper: 1e-8 there. Zero keeps the method invariant under scaling of the loss.
  double factor_epsilon = 0;
  // Departs from the paper: 1e-8 in Algorithm 2, none in its equation for rho; 1e-8 silences the trigger at
  // small gradients.
  double ratio_epsilon = 0;
  double weight_decay = 0;

  // Departs from the paper: with the paper's metric c / a scales with the fifth power of the loss, with adam
  // not at all.
  SecantMetric secant_metric = SecantMetric::adam;
  SecantEigenvalues secant_eigenvalues = SecantEigenvalues::rayleigh;  // Departs from the paper: exact there
  double eigenvalue_floor =
      1e-12;              // Departs from the paper: no floor there, and L^-1 of singular factors overflows
  double tau_min = 0.25;  // Not in the paper: no value is given
  double tau_max = 1;
  double tau_power = 0.5;
  TauScope tau_scope = TauScope::layer;

  double trigger = 0.2;
  std::int64_t check_interval = 1;
  std::int64_t warmup_steps = 0;
  TriggerRule trigger_rule = TriggerRule::both;
  // Departs from the paper, which turns M with the basis and leaves V in the old one, scaled by gamma: an entry
  // of the new M may then meet a V that is nearly zero. Measured: single steps of 8 to 1,800 times Adam's
  // bound, after which runs do not recover. Squares of the entries of Q_new^T Q_old turn V too, exactly where
  // its entries are uncorrelated.
  VarianceTransition variance_transition = VarianceTransition::reproject_squared;
  // Not in the paper. Where they are correlated V is raised to the least value that M allows.
  bool keep_step_bound = true;
  std::vector<double> gamma_thresholds = {0.5, 0.8};
  std::vector<double> gamma_values = {0.75, 0.5, 0.25};

  InnerUpdate inner_update = InnerUpdate::adam;
  bool correct_bias = true;
  bool precondition_vectors = false;
  std::int64_t max_dimension = 2048;  // Not in the paper

  static SsEsoapOptions paper() {
    SsEsoapOptions o;
    o.epsilon = o.factor_epsilon = o.ratio_epsilon = 1e-8;
    o.relative_epsilon = 0;
    o.secant_metric = SecantMetric::paper;
    o.eigenvalue_floor = 0;
    o.variance_transition = VarianceTransition::downscale;
    o.keep_step_bound = false;
    // The paper requires a value and gives none: the memory 1 / (1 - beta2) of the factors, which before that
    // many steps are not the averages that a basis is meant to diagonalize.
    o.warmup_steps = 20;
    return o;
  }

  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size (eta)", positive());
    v.real("beta1", beta1, "decay rate of the first moment", unit_open_right());
    v.real("beta2", beta2, "decay rate of the second moment and of the Kronecker factors", unit_open_right());
    v.real("epsilon", epsilon, "added to the root of the second moment", non_negative());
    v.real("relative_epsilon", relative_epsilon, "added too, times the largest root of the block",
           non_negative());
    v.real("factor_epsilon", factor_epsilon, "the factors start as this times the identity", non_negative());
    v.real("ratio_epsilon", ratio_epsilon, "added to the norm that the off-diagonal norm is divided by",
           non_negative());
    v.real("weight_decay", weight_decay, "decoupled weight decay (lambda)", non_negative());
    v.choice("secant_metric", secant_metric, "metric a of the self-scaling tau = c / a; off: tau = 1",
             {{"off", SecantMetric::off},
              {"paper", SecantMetric::paper},
              {"adam", SecantMetric::adam},
              {"shampoo", SecantMetric::shampoo},
              {"kronecker-root", SecantMetric::kronecker_root},
              {"kronecker", SecantMetric::kronecker},
              {"oren-luenberger", SecantMetric::oren_luenberger},
              {"identity", SecantMetric::identity}});
    v.choice("secant_eigenvalues", secant_eigenvalues,
             "metric paper between basis changes: diagonals in the basis, or solves",
             {{"rayleigh", SecantEigenvalues::rayleigh}, {"exact", SecantEigenvalues::exact}});
    v.real("eigenvalue_floor", eigenvalue_floor,
           "added to eigenvalues in the metric, relative to the largest", non_negative());
    v.real("tau_min", tau_min, "smallest tau; 1 switches self-scaling off", unit_open_left());
    v.real("tau_max", tau_max, "largest tau; inf: unclipped", at_least(1));
    v.real("tau_power", tau_power, "the step is multiplied by tau to the minus this; below 0 tau damps");
    v.choice("tau_scope", tau_scope, "one tau per layer, or one for all",
             {{"layer", TauScope::layer}, {"global", TauScope::global}});
    v.real("trigger", trigger,
           "off-diagonal ratio above which the basis is replaced; 0: every step, inf: never", non_negative());
    v.integer("check_interval", check_interval, "steps between two checks of the ratio", at_least(1));
    v.integer("warmup_steps", warmup_steps, "no checks up to this step", non_negative());
    v.choice("trigger_rule", trigger_rule, "the larger ratio replaces both bases, or each ratio its own",
             {{"both", TriggerRule::both}, {"per-factor", TriggerRule::per_factor}});
    v.choice("variance_transition", variance_transition,
             "what happens to the second moment when the basis changes",
             {{"downscale", VarianceTransition::downscale},
              {"keep", VarianceTransition::keep},
              {"reset", VarianceTransition::reset},
              {"reset-both", VarianceTransition::reset_both},
              {"reproject", VarianceTransition::reproject},
              {"reproject-squared", VarianceTransition::reproject_squared},
              {"permute", VarianceTransition::permute}});
    v.boolean("keep_step_bound", keep_step_bound,
              "raise the second moment, when the basis changes, to the least value that the first allows");
    v.reals("gamma_thresholds", gamma_thresholds, "ascending ratios at which the downscaling gamma changes");
    v.reals("gamma_values", gamma_values, "gamma below, between and above the thresholds");
    v.choice("inner_update", inner_update, "update inside the basis",
             {{"adam", InnerUpdate::adam}, {"momentum", InnerUpdate::momentum}});
    v.boolean("correct_bias", correct_bias, "correct the bias of moments that started at zero");
    v.boolean("precondition_vectors", precondition_vectors,
              "give biases a factor and a basis too; else Adam");
    v.integer("max_dimension", max_dimension, "longer sides keep the identity as basis", non_negative());
  }
};

// Throws Error unless gamma_thresholds and gamma_values are consistent.
void require_gammas(const SsEsoapOptions& options);

}  // namespace lather::optim
