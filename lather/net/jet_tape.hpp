#pragma once
// A tape prepared for one set of derivatives: the pointwise operations as programs on jets, forward and
// adjoint, and what must be kept from the forward pass. Independent of the device.

#include <vector>

#include "lather/net/tape.hpp"
#include "lather/symbolic/program.hpp"

namespace lather::net {

// An array a pointwise program reads or writes.
struct ArrayRef {
  enum class What {
    in,          // component `component` of input `index`
    out,         // of the output
    stash,       // kept from the forward pass for the adjoint: expensive functions such as sigmoid(z)
    out_bar,     // d loss / d out
    in_bar,      // d loss / d in
    scalar,      // scalar parameter `index`
    scalar_bar,  // d loss / d scalar parameter, summed over all elements
  } what;
  int index = 0, component = 0;
};

struct PointwiseProgram {
  symbolic::Program forward, adjoint;
  std::vector<ArrayRef> forward_inputs, forward_outputs;
  std::vector<ArrayRef> adjoint_inputs, adjoint_outputs;
  int stashes = 0;
};

struct JetTape {
  symbolic::JetSet jets;
  std::vector<PointwiseProgram> programs;  // one per operation; empty for dense layers
  std::vector<char> needs_bar;             // per buffer: is there anything trainable upstream?
  std::vector<std::vector<char>>
      accumulates;  // per operation and input: add to an existing bar, or be the first to write it
};

JetTape compile_tape(const Tape& tape, const symbolic::JetSet& jets);

}  // namespace lather::net
