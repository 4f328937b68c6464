#pragma once
// Further networks trained on what the first one leaves: u = u_1 + e_2 u_2 + …. When a network has used its
// share of the training it is frozen, and a fresh one, multiplied by the size of the remainder, is trained in
// its place. Its hidden weights are drawn at the scale of features and its output layer is fitted to the
// linearized remainder (Wang & Lai, "Multi-stage neural networks: function approximator of machine
// precision", 2024, train further networks on remainders too, from scales they read off their spectrum).
//
//   corrections = 2
//   corrections = {count = 1, width = 60, depth = 1, feature_scale = 8}

#include <cstdint>
#include <span>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/pde/objective.hpp"

namespace lather::train {

struct CorrectionOptions {
  std::int64_t count = 0, width = 0, depth = 0;
  double feature_scale = 0;
  void fields(FieldVisitor& v) {
    v.integer("count", count, "further networks, one after the other, on what the ones before leave",
              between(0, 20));
    v.integer("width", width, "their neurons per hidden layer; 0: as many as the first network has",
              between(0, 16384));
    v.integer("depth", depth, "their hidden layers; 0: as many as the first network has", between(0, 1000));
    v.real("feature_scale", feature_scale,
           "scale of their hidden weights (network.feature_scale); 0: twice that of the network before",
           non_negative());
  }
};

// The problem of a stage: `problem` with the frozen networks of earlier stages and one that corrects them.
pde::Problem corrected(pde::Problem problem, const CorrectionOptions& options, int stage);

// Sets the frozen weights of the sum in the objective of a corrected problem: those of every earlier network,
// given by its parameters and the frozen weights of its stage, and the factors of the join; the new network's
// is the square root of the loss before it relative to the loss of no network at all. Points must have been
// set. Unknowns in `x` become those of the previous stage.
struct TrainedNetwork {
  std::span<const double> parameters, frozen;
};
void freeze_networks(pde::PinnObjective& objective, const std::vector<TrainedNetwork>& before,
                     std::span<double> x);

}  // namespace lather::train
