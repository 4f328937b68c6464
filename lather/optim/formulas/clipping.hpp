#pragma once
// One entry of a clipped gradient.

#include "lather/core/host_device.hpp"

namespace lather::optim {

// NaN passes through.
LATHER_HOST_DEVICE double clipped_value(double g, double limit) {
  return g > limit ? limit : g < -limit ? -limit : g;
}
LATHER_HOST_DEVICE double clipping_factor(double norm, double limit) {
  return norm > limit ? limit / norm : 1;
}

}  // namespace lather::optim
