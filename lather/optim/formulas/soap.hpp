#pragma once
// SOAP's own Adam: the bias is corrected in the rate, not in the root; t counts the steps that have updated
// the moments.

#include "lather/optim/formulas/adam.hpp"

namespace lather::optim {

LATHER_HOST_DEVICE double soap_element(double m, double v, double epsilon) { return m / (sqrt(v) + epsilon); }
LATHER_HOST_DEVICE double soap_rate(bool correct_bias, double rate, double beta1, double beta2, double t) {
  return correct_bias ? rate * sqrt(bias_correction(beta2, t)) / bias_correction(beta1, t) : rate;
}
LATHER_HOST_DEVICE double soap_divisor(double mean_square) { return 1e-30 + sqrt(mean_square); }
// W <- W - alpha u, and only then W <- W - decay W.
LATHER_HOST_DEVICE double soap_change(double alpha, double decay, double w, double u) {
  return -alpha * u - decay * (w - alpha * u);
}

}  // namespace lather::optim
