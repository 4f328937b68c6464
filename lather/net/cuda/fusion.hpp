#pragma once
// Which dense layers are carried out as matrix products and which inside other kernels.
//
// A dense layer on the network's input has few columns to multiply with: its product is formed inside
// the kernels that read it and never stored, and its weight gradient is summed there (`absorbed`). The same
// goes for the product that propagates the output's adjoint back into the last hidden layer. Biases are added
// where a layer's result is read.

#include <vector>

#include "lather/net/jet_tape.hpp"

namespace lather::net {

// How a dense layer is carried out.
enum class DenseForm {
  product,          // matrix products, forward and backward
  absorbed_input,   // no product at all: inside the kernels that read it
  absorbed_output,  // the output layer: forward in the residual kernel, backward inside the last adjoint
  output,           // the output layer: forward in the residual kernel, backward by matrix products
};

struct Fusion {
  std::vector<DenseForm> form;  // per operation
  std::vector<int> producer;    // per buffer: the dense operation that writes it, or -1
  // Per operation: the pointwise operation whose adjoint completes its bar, or -1.
  std::vector<int> bias_summer;
};
// `absorb`: false gives the plain form, in which every layer's input and adjoint is in memory.
Fusion plan_fusion(const Tape& tape, const JetTape& jets, bool absorb);

}  // namespace lather::net
