#pragma once
// Scalars of SS-eSOAP (letters of kronecker/ss_esoap.cpp) and the choices they depend on.

#include "lather/optim/formulas/adam.hpp"

namespace lather::optim {

// The form a in tau = c / a, with c = <Y, S>, S the last step, Y the change of the gradient along it.
enum class SecantMetric {
  off,              // tau = 1
  paper,            // a = Tr(S^T L^-1 S R^-1)
  adam,             // a = sum S~^2 (sqrt V^ + eps) / eta: the metric the inner update divides by
  shampoo,          // a = Tr(S^T L^1/4 S R^1/4) / eta
  kronecker_root,   // a = Tr(S^T L^1/2 S R^1/2) / eta
  kronecker,        // a = Tr(S^T L S R) / eta
  oren_luenberger,  // a = -<S, G_{t-1}>: the scalar of quasi-Newton methods, H^-1 s = -g
  identity,         // a = <S, S>
};
enum class VarianceTransition { downscale, keep, reset, reset_both, reproject, reproject_squared, permute };
enum class TriggerRule { both, per_factor };
enum class TauScope { layer, global };
enum class InnerUpdate { adam, momentum };

// rho of one factor: its off-diagonal norm over its norm, in its basis.
LATHER_HOST_DEVICE double off_diagonal_ratio(double off, double norm, double epsilon) {
  return norm + epsilon > 0 ? off / (norm + epsilon) : 0;
}
LATHER_HOST_DEVICE bool is_check_due(long long t, long long warmup_steps, long long check_interval) {
  return t > warmup_steps && t % check_interval == 0;
}
// Is the basis of one side replaced in a layer whose larger ratio has fired?
LATHER_HOST_DEVICE bool side_fires(TriggerRule rule, double own_ratio, double trigger) {
  return rule == TriggerRule::both || own_ratio > trigger;
}

// gamma(rho): values[k], where k is the number of thresholds strictly below rho.
LATHER_HOST_DEVICE double downscaling(double rho, const double* thresholds, int count, const double* values) {
  int k = 0;
  while (k < count && rho > thresholds[k]) ++k;
  return values[k];
}

// Is V transformed along with the basis when the basis changes?
LATHER_HOST_DEVICE bool is_turned(VarianceTransition transition) {
  return transition == VarianceTransition::reproject || transition == VarianceTransition::reproject_squared ||
         transition == VarianceTransition::permute;
}

// Are V and its bias correction started anew?
LATHER_HOST_DEVICE bool is_reset(VarianceTransition transition) {
  return transition == VarianceTransition::reset || transition == VarianceTransition::reset_both;
}

// Epsilon with its part relative to the largest root; `largest` is the largest entry of V.
LATHER_HOST_DEVICE double inner_epsilon(double epsilon, double relative_epsilon, double largest,
                                        double correction2) {
  return relative_epsilon > 0 ? epsilon + relative_epsilon * sqrt(largest / correction2) : epsilon;
}

// Weights of S~_ij^2 in the metrics, l and r being eigenvalues of the factors.
LATHER_HOST_DEVICE double paper_metric_weight(double l, double r) { return 1 / (l * r); }
LATHER_HOST_DEVICE double factor_metric_weight(SecantMetric metric, double l, double r) {
  const double product = fmax(l * r, 0.0);
  if (metric == SecantMetric::kronecker) return product;
  return metric == SecantMetric::kronecker_root ? sqrt(product) : sqrt(sqrt(product));
}
LATHER_HOST_DEVICE bool is_of_factors(SecantMetric metric) {
  return metric == SecantMetric::shampoo || metric == SecantMetric::kronecker_root ||
         metric == SecantMetric::kronecker;
}
LATHER_HOST_DEVICE bool is_divided_by_rate(SecantMetric metric) {
  return metric == SecantMetric::adam || is_of_factors(metric);
}
LATHER_HOST_DEVICE bool needs_rotated_step(SecantMetric metric) {
  return metric == SecantMetric::paper || is_divided_by_rate(metric);
}

// tau = min(tau_max, max(tau_min, c / a)) for c > 0 and a > 0, else 1 (Alg. 2, step 4).
LATHER_HOST_DEVICE double self_scaling(double c, double a, double tau_min, double tau_max) {
  return c > 0 && a > 0 ? fmin(tau_max, fmax(tau_min, c / a)) : 1;
}
LATHER_HOST_DEVICE double step_scale(double tau, double tau_power) {
  return tau != 1 ? pow(tau, -tau_power) : 1;
}

// What is counted at every step, in this order: steps with a secant, tau = 1, tau at its minimum, c <= 0,
// then tau in ten equal parts of (0, 1], and above 1.
enum TauCount { kTauSteps, kTauAtOne, kTauAtLeast, kTauNoCurvature, kTauFirstPart };
constexpr int kTauParts = 10;
constexpr int kTauCounts = kTauFirstPart + kTauParts + 1;
LATHER_HOST_DEVICE void count_tau(double* counts, double tau, double c, double tau_min) {
  counts[kTauSteps] += 1;
  if (tau == 1) counts[kTauAtOne] += 1;
  if (tau == tau_min && tau != 1) counts[kTauAtLeast] += 1;
  if (!(c > 0)) counts[kTauNoCurvature] += 1;
  int part = tau > 1 ? kTauParts : (int)ceil(tau * kTauParts) - 1;
  if (part < 0) part = 0;
  counts[kTauFirstPart + part] += 1;
}

LATHER_HOST_DEVICE double cosine(double xy, double xx, double yy) {
  return xx > 0 && yy > 0 ? xy / (sqrt(xx) * sqrt(yy)) : 0;
}

}  // namespace lather::optim
