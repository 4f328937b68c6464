#pragma once
// When eigenvectors are determined, and which of their components fixes the sign: for linalg::make_canonical
// on the host and optim/cuda/kernels/bases.cuh on the GPU.

#include "lather/core/host_device.hpp"

namespace lather::linalg {

// Eigenvalues so close that only the space of their eigenvectors
// is determined; `scale` is the largest magnitude among all.
LATHER_HOST_DEVICE bool in_one_cluster(double a, double b, double scale) {
  return fabs(a - b) <= 1e-12 * scale;
}

// The deciding component is the largest; among those that are
// equal up to rounding, the first. Both numbers are squares.
LATHER_HOST_DEVICE bool as_large_as(double largest, double component) {
  return component >= (1 - 1e-8) * largest;
}

}  // namespace lather::linalg
