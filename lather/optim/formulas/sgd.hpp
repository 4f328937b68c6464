#pragma once
// SGD's element: g gradient with weight decay, m momentum, mu its decay rate.

#include "lather/core/host_device.hpp"

namespace lather::optim {

// The first momentum is the gradient itself; without momentum there is nothing to dampen.
LATHER_HOST_DEVICE double sgd_weight_of_new(long long t, double mu, double dampening) {
  return t == 1 || mu == 0 ? 1 : 1 - dampening;
}
LATHER_HOST_DEVICE double sgd_momentum(double mu, double weight_of_new, double m, double g) {
  return mu * m + weight_of_new * g;
}
LATHER_HOST_DEVICE double sgd_direction(bool nesterov, double mu, double m, double g) {
  return nesterov ? g + mu * m : m;
}

}  // namespace lather::optim
