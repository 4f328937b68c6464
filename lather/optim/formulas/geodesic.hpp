#pragma once
// Elements of a Levenberg–Marquardt step on a curved path (letters of least_squares/levenberg_marquardt.cpp).

#include "lather/core/host_device.hpp"

namespace lather::optim {

// D from diag(J^T J): its mean, or itself. Parameters without influence have zeros there; D must be positive.
LATHER_HOST_DEVICE double damping_element(bool marquardt, double diagonal, double mean) {
  const double least = 1e-12 * mean;
  return !marquardt ? mean : diagonal > least ? diagonal : least;
}

// x + s d + s^2/2 a
LATHER_HOST_DEVICE double path_point(double x, double s, double d, double a) {
  return x + s * (d + s / 2 * a);
}

// r'' from r at x, x + h d and x - h d.
LATHER_HOST_DEVICE double second_difference(double here, double ahead, double behind, double h) {
  return (-2 * here + ahead + behind) / (h * h);
}

// The quadratic model of a path that bends more than this is useless. False if a is not finite.
LATHER_HOST_DEVICE bool path_bends_little(double a_norm, double d_norm) { return a_norm < 2 * d_norm; }

}  // namespace lather::optim
