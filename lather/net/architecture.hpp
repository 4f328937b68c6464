#pragma once
// The networks by name. Each is written once, as values on a Tape; jets and adjoints follow from that.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/net/tape.hpp"

namespace lather::net {

enum class NetworkType { mlp, modified_mlp, piratenet };
enum class ActivationName { tanh, sin, versine, swish, gelu, softplus };
enum class Initialization { glorot, lecun, features, siren };
enum class TrainedLayers { all, output };
enum class OutputFit { none, conditions, all };  // least-squares start of the last layer, on which terms

struct NetworkOptions {
  NetworkType type = NetworkType::mlp;
  std::int64_t width = 64;
  std::int64_t depth = 4;  // hidden layers; PirateNet: blocks of three
  // Networks side by side that share only the inputs; each provides an equal share of the outputs, in order:
  // one per subdomain.
  std::int64_t networks = 1;
  ActivationName activation = ActivationName::tanh;
  double frequency = 1;              // hidden layers are activation(frequency * z)
  bool frequency_trainable = false;  // one per hidden layer
  bool skip = false;                 // inputs go to the output layer too
  Initialization initialization = Initialization::glorot;
  double feature_scale = 4;
  std::vector<double> input_scales = {};  // of features, one per input of the network; empty: all alike
  TrainedLayers train = TrainedLayers::all;
  std::int64_t fourier_features = 0;  // cosines and sines of random directions; 0: none
  double fourier_scale = 1;
  bool fourier_trainable = false;
  bool weight_factorization = false;
  double factorization_mean = 1, factorization_deviation = 0.1;
  OutputFit output_fit = OutputFit::none;

  void fields(FieldVisitor& v);
};

// `inputs` numbers go in, `outputs` come out. Throws Error for combinations that make no sense.
Tape build_network(const NetworkOptions& options, int inputs, int outputs);
// The sum of several networks, each times a factor; all but the last are frozen, and so are the factors: the
// block "join.weight" has one diagonal square per network. Names of network k begin with "network<k>.".
Tape build_sum(std::span<const NetworkOptions> networks, int inputs, int outputs);

}  // namespace lather::net
