#pragma once
// Scalars of Shampoo's inverse roots and of grafting.

#include "lather/core/host_device.hpp"

namespace lather::optim {

// The root of the factors of an m × n matrix: 2 times its order, not counting sides of length 1.
LATHER_HOST_DEVICE double shampoo_root(long long rows, long long cols) {
  return rows > 1 && cols > 1 ? 4 : 2;
}
// Makes the smallest eigenvalue at least epsilon.
LATHER_HOST_DEVICE double eigenvalue_shift(double smallest, double epsilon) {
  return smallest < epsilon ? epsilon - smallest : 0;
}
// X diag(this) times its transpose is A^(-1/root). An exactly singular
// factor with epsilon = 0 has no inverse root; that direction is left out.
LATHER_HOST_DEVICE double half_inverse_root(double eigenvalue, double root) {
  return eigenvalue > 0 ? pow(eigenvalue, -0.5 / root) : 0;
}
// Factor that scales a direction to the length of the grafted one; the guard keeps zero directions zero.
LATHER_HOST_DEVICE double grafting_scale(double grafted_length, double length) {
  return grafted_length / (length + 1e-16);
}

}  // namespace lather::optim
