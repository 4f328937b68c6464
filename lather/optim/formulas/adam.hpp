#pragma once
// Adam's element (Kingma & Ba 2015): g gradient, m and v its first and second moment, u direction.

#include "lather/core/host_device.hpp"

namespace lather::optim {

// Averages that start at zero are too small by this factor after t steps; sums (beta = 1) are not.
LATHER_HOST_DEVICE double bias_correction(double beta, double t) { return beta == 1 ? 1 : 1 - pow(beta, t); }
// A new value enters an average times 1 - beta, a sum as it is.
LATHER_HOST_DEVICE double weight_of_new(double beta) { return beta == 1 ? 1 : 1 - beta; }

LATHER_HOST_DEVICE double first_moment(double beta1, double m, double g) {
  return beta1 * m + (1 - beta1) * g;
}
LATHER_HOST_DEVICE double second_moment(double beta2, double weight, double v, double g) {
  return beta2 * v + weight * g * g;
}

// C² with m² <= C² v after t steps, whatever the gradients were (Cauchy-Schwarz on the two sums):
//   C² = sum over k < t of ((1 - beta1) beta1^k)² / ((1 - beta2) beta2^k).
// Hence no entry of Adam's direction exceeds C sqrt(correction2) / correction1: 1 at first, 1.165 in the end
// with 0.9 and 0.95.
LATHER_HOST_DEVICE double moment_bound(double beta1, double beta2, double t) {
  const double q = beta1 * beta1 / beta2, share = (1 - beta1) * (1 - beta1) / weight_of_new(beta2);
  return share * (q == 1 ? t : (1 - pow(q, t)) / (1 - q));
}
// The smallest second moment that a first moment allows.
LATHER_HOST_DEVICE double least_second_moment(double m, double bound) {
  return bound > 0 ? m * m / bound : 0;
}

LATHER_HOST_DEVICE double adam_root(double v, double correction2, double epsilon) {
  return sqrt(v / correction2) + epsilon;
}
// u = (m / correction1) / (sqrt(v / correction2) + epsilon)
LATHER_HOST_DEVICE double adam_element(double m, double v, double correction1, double correction2,
                                       double epsilon) {
  return (m / correction1) / adam_root(v, correction2, epsilon);
}

// A descent step along u with decoupled weight decay.
LATHER_HOST_DEVICE double descent_element(double rate, double decay, double w, double u) {
  return decay == 0 ? -rate * u : -rate * (u + decay * w);
}

}  // namespace lather::optim
