#pragma once
// Starting values of a network's parameters: a pure function of the seed.

#include <cstdint>
#include <vector>

#include "lather/net/architecture.hpp"

namespace lather::net {

struct Weights {
  std::vector<double> parameters, frozen;
};

// Weights normal (Glorot or LeCun), biases and PirateNet's alphas zero, Fourier projections normal times
// their scale. Not in the paper: plain normals; the reference codes truncate them at two standard deviations.
// If only the output layer is trained, it starts at zero: random sums of features have derivatives far above
// the solution's, and what a solver does about those takes many steps to wear off.
Weights initialize(const Tape& tape, const NetworkOptions& options, std::uint64_t seed);

}  // namespace lather::net
