#pragma once
// Muon's element before the orthogonalization: g gradient, m momentum, mu its decay rate.

#include "lather/optim/formulas/adam.hpp"

namespace lather::optim {

LATHER_HOST_DEVICE double muon_momentum(double mu, double m, double g) { return first_moment(mu, m, g); }
LATHER_HOST_DEVICE double muon_direction(bool nesterov, double mu, double m, double g) {
  return nesterov ? (1 - mu) * g + mu * m : m;
}
// Between two orthogonalizations: the plain direction at the last orthogonal length.
LATHER_HOST_DEVICE double muon_rescaling(double orthogonal_length, double length) {
  return length > 0 ? orthogonal_length / length : 0;
}

}  // namespace lather::optim
