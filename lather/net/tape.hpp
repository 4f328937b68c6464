#pragma once
// A network as a list of operations on values, independent of device and derivatives: dense layers, and
// pointwise functions given as expressions. From this alone the engine derives jets, adjoints and kernels.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lather/optim/parameters.hpp"
#include "lather/symbolic/jets.hpp"

namespace lather::net {

// Columns [offset, offset + width) of a buffer. One row per point (and per derivative).
struct Value {
  int buffer = -1, offset = 0, width = 0;
};

// A matrix or vector of weights: trainable ones are blocks of
// the parameter layout, frozen ones of a second layout.
struct WeightRef {
  int block = -1;  // -1: none
  bool frozen = false;
  explicit operator bool() const { return block >= 0; }
};

// out = in W + b. With a scale g: W = V diag(g), V and g being the parameters (random weight factorization).
struct Dense {
  Value in, out;
  WeightRef weight, bias, scale;
};

// out = value(in…, scalar parameters…), element by element.
struct Pointwise {
  std::vector<Value> in;
  Value out;
  symbolic::Expr value;
  std::vector<symbolic::Expr> arguments;         // the symbols in `value` that stand for `in`
  std::vector<int> scalars;                      // blocks of scalar parameters
  std::vector<symbolic::Expr> scalar_arguments;  // and their symbols
  std::optional<symbolic::OpaqueFunction> activation;
};

struct Operation {
  std::optional<Dense> dense;
  std::optional<Pointwise> pointwise;
};

class Tape {
 public:
  explicit Tape(int inputs);

  symbolic::Graph& graph() { return *graph_; }
  Value input() const { return {0, 0, buffer_widths_[0]}; }

  struct DenseOptions {
    std::string name;
    optim::Role role = optim::Role::hidden;
    bool bias = true, frozen = false, factorized = false;
  };
  Value dense(Value in, int width, const DenseOptions& options);

  // A new buffer, or a piece of one, that pointwise operations write to.
  Value new_buffer(int width);
  static Value columns(Value whole, int offset, int width) {
    return {whole.buffer, whole.offset + offset, width};
  }

  symbolic::Expr argument(int i) { return graph_->symbol("arg" + std::to_string(i)); }
  void pointwise(Pointwise operation) { operations_.push_back({{}, std::move(operation)}); }
  int scalar(std::string name, optim::Role role);  // a new scalar parameter; returns its block

  void set_output(Value output) { output_ = output; }

  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<int>& buffer_widths() const { return buffer_widths_; }
  Value output() const { return output_; }
  const optim::ParameterLayout& parameters() const { return parameters_; }
  const optim::ParameterLayout& frozen() const { return frozen_; }
  const optim::ParameterBlock& block(WeightRef ref) const {
    return (ref.frozen ? frozen_ : parameters_).blocks()[ref.block];
  }

 private:
  std::shared_ptr<symbolic::Graph> graph_ = std::make_shared<symbolic::Graph>();
  std::vector<Operation> operations_;
  std::vector<int> buffer_widths_;
  Value output_;
  optim::ParameterLayout parameters_, frozen_;
};

}  // namespace lather::net
