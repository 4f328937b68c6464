#pragma once
// Least-squares start of the last layer (PirateNets: "physics-informed initialization").

#include <span>

#include "lather/pde/objective.hpp"

namespace lather::pde {

// Changes only the output layer's weights and bias in x: one Gauss–Newton step on the chosen terms (the
// conditions and data, or all), exact if residuals are linear in the network's outputs. If the loss of those
// terms does not fall, x is left as it was. Returns whether it changed.
bool fit_output_layer(PinnObjective& objective, std::span<double> x, net::OutputFit terms);

}  // namespace lather::pde
