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
