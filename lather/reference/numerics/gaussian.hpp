#pragma once
// Fourier coefficients of Gaussian initial data on [-1,1], continued periodically. The continuation jumps
// slightly at ±1, so they are computed by an integral, not from samples, which would misplace the jump by
// half a cell.

#include "lather/reference/numerics/fourier.hpp"

namespace lather::reference {

// c_k = (1/2) ∫_{-1}^{1} (x - centre)^power exp(-rate (x - centre)²) e^{-iπkx} dx for k = -K … K, at index k
// + K.
std::vector<Complex> gaussian_coefficients(double rate, double centre, int power, int K);

}  // namespace lather::reference
