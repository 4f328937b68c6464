#pragma once
// Runs a network on one tile of points, all layers forward and backward, in an arena that fits in the L2
// cache. One per thread and derivative set.
//
// Layout: a buffer holds its jet components one after another, each as points × stride; so a dense layer is
// one product with (components · points) rows, with the bias added to the first `points` of them.

#include <functional>
#include <span>
#include <vector>

#include "lather/core/buffer.hpp"
#include "lather/net/jet_tape.hpp"
#include "lather/net/layer_weights.hpp"
#include "lather/symbolic/machine/machine.hpp"

namespace lather::net {

// A dense layer seen from the backward pass: what came in (a, with its derivatives)
// and what came back (z_bar). Both hold components · points rows. d loss / d
// W = a^T z_bar; for one point, the sum over its components of outer products.
template <class T>
struct LayerSignals {
  std::size_t operation;
  const T* in;
  std::size_t in_stride;
  const T* out_bar;
  std::size_t out_stride;
  std::size_t points;
  int components;
};

template <class T>
class TileExecutor {
 public:
  TileExecutor(const Tape& tape, const JetTape& jet_tape, std::size_t capacity);

  std::size_t capacity() const { return capacity_; }  // points
  std::size_t bytes() const;

  // Begins a tile of `points` <= capacity.
  void begin(std::size_t points) { points_ = points; }
  std::size_t points() const { return points_; }

  struct Rows {
    T* data;             // component 0, point 0; component c starts at data + c * points * stride
    std::size_t stride;  // from point to point
  };
  Rows input();       // to be filled before forward()
  Rows output();      // filled by forward()
  Rows output_bar();  // to be filled before backward(); columns beyond the outputs must stay zero

  void forward(const LayerWeights<T>& weights);

  // Adds to `gradients`. May be called several times after one forward().
  void backward(const LayerWeights<T>& weights, LayerGradients<T>& gradients);

  // The same pass, but point by point: every trainable dense layer's signals,
  // and for every scalar parameter (by block) its derivative at each point.
  struct Visitor {
    std::function<void(const LayerSignals<T>&)> layer;
    std::function<void(int block, std::span<const T> per_point)> scalar;
  };
  void visit_backward(const LayerWeights<T>& weights, const Visitor& visitor);

 private:
  struct Storage {
    Buffer<T> values;
    int bar_slot = -1;
    std::size_t stride = 0;
  };
  struct PointwiseState {
    std::unique_ptr<symbolic::Machine<T>> forward, adjoint;
    std::vector<Buffer<T>> stashes;
    std::vector<const T*> inputs;
    std::vector<T*> outputs;
    bool whole = true;  // all operands are whole buffers of one stride: run over them in one go
  };
  struct Place {
    T* data;
    std::size_t stride;
  };

  void assign_bars(const Tape& tape);
  Place place(const Pointwise& op, const PointwiseState& state, const ArrayRef& array);
  T* component(const Value& value, int c);
  T* bar_component(const Value& value, int c);
  void run(const Pointwise& op, PointwiseState& state, symbolic::Machine<T>& machine,
           const std::vector<ArrayRef>& in, const std::vector<ArrayRef>& out, const LayerWeights<T>& weights,
           LayerGradients<T>* gradients);
  void backward(const LayerWeights<T>& weights, LayerGradients<T>* gradients, const Visitor* visitor);

  const Tape* tape_;
  const JetTape* jet_tape_;
  std::size_t capacity_, points_ = 0;
  int components_;
  std::vector<Storage> buffers_;
  std::vector<Buffer<T>> bar_slots_;
  std::vector<PointwiseState> pointwise_;
  std::vector<Buffer<T>> scalars_per_point_;  // of the operation being visited
};

}  // namespace lather::net
