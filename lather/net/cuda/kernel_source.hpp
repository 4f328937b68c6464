#pragma once
// CUDA kernels for a tape, as source text: one kernel per pointwise operation and direction, for all point
// sets at once.
//
// Rows. A buffer holds, for one batch, the rows of all point sets one after another; within a set its jet
// components one after another; within a component its points. A dense layer is one product over all rows.
// Stashes hold one row per point.
//
// Sums over points (bias and narrow weight gradients, scalars) are formed per thread block in a fixed order
// and written as one row of partial sums per block; a later kernel adds the rows. No atomics: the results are
// bitwise the same from run to run.

#include <span>
#include <string>
#include <vector>

#include "lather/net/cuda/fusion.hpp"
#include "lather/net/jet_tape.hpp"

namespace lather::net {

// A component of the network's input: the same number at all points, or read from buffer 0.
struct InputJet {
  bool varies = false;
  double value = 0;
};

// What one set of derivatives contributes to the kernels.
struct KernelSet {
  const JetTape* tape;
  std::vector<std::vector<InputJet>> inputs;  // [input][component]
};

// A pointer passed to a kernel.
struct KernelPointer {
  enum class What { values, bar, stash, parameters, frozen, sums, scalar_bar } what;
  int index = 0;  // buffer; stash number; block of weights; entry of `sums`; scalar of the operation
  friend bool operator==(const KernelPointer&, const KernelPointer&) = default;
};

// Partial sums a kernel writes: `columns` per thread block, to be added up into the gradient of a block of
// parameters.
struct KernelSum {
  int block;
  std::size_t columns;
};

struct PointwiseKernel {
  std::string name, source;
  std::vector<KernelPointer> pointers;
  std::vector<KernelSum> sums;
  int operation = 0;
  int columns_x = 1;  // blocks side by side
  int threads_x = 1,
      threads_y = 1;  // a thread takes one or more neighbouring columns of every threads_y-th point
  bool empty() const { return name.empty(); }
};

struct KernelOptions {
  bool single_precision = false;
  // Nothing is summed over points: each element's contribution to a scalar's derivative is stored instead,
  // like a stash. Layers must not be absorbed.
  bool per_point = false;
  std::size_t real_bytes() const { return single_precision ? 4 : 8; }
  int widest_pack() const { return static_cast<int>(16 / real_bytes()); }
  // Row stride, in columns, of a buffer of this width: rows are aligned to 16 bytes.
  int leading(int width) const { return (width + widest_pack() - 1) / widest_pack() * widest_pack(); }
};

// Types and helpers every kernel source begins with.
std::string kernel_prelude(const KernelOptions& options);

// A set's share of a launch; kernel arguments begin with an array of these. Same layout on host and device.
struct KernelPiece {
  int row;        // of its first component and point, in the batch
  int points;     // of the set in this batch
  int stash_row;  // of its first point, in the batch's stashes
  int block;      // first thread block (y) that works on it
  int blocks;
  int point;   // of the set, at which this batch begins
  int total;   // points of the set in all batches
  int unused;  // so that pointers may follow
};

PointwiseKernel forward_kernel(const Tape& tape, int operation, std::span<const KernelSet> sets,
                               const Fusion& fusion, const KernelOptions& options);
PointwiseKernel adjoint_kernel(const Tape& tape, int operation, std::span<const KernelSet> sets,
                               const Fusion& fusion, const KernelOptions& options);

// "if (block belongs to set 0) …": calls `name`_0, `name`_1, … with the piece.
std::string dispatch_source(const std::string& name, std::size_t sets, std::size_t pointers,
                            const std::string& attributes);

}  // namespace lather::net
