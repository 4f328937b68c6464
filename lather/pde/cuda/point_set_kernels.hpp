#pragma once
// The CUDA kernels of a problem, as source text, in addition to those of its network
// (net/cuda/kernel_source.hpp): the network's inputs from the coordinates; and output layer, residuals, loss
// and cotangent in one.

#include "lather/net/cuda/kernel_source.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"

namespace lather::pde {

std::vector<std::vector<net::InputJet>> input_jets(const CompiledPointSet& set, int inputs);

// A pointer passed to these kernels.
struct SetPointer {
  enum class What {
    coordinates,    // of set `index`: [coordinate][point]
    columns,        // of set `index`: [data column][point]
    values,         // of expression `component` of set `index`: one per point
    point_weights,  // likewise, or null; of groups: one per group
    group_sums,     // likewise: the values of a group, added up
    scales,         // per term: d loss / d residual = scale * point weight * residual
    inputs,         // the network's input, all jets
    last,           // what the output layer reads
    output_bar,     // d loss / d output
    parameters,     // block of weights `index`
    frozen,
    unknowns,
    unknown_bars,  // [unknown][point of the batch]
    sums,          // partial sums, one row per thread block: see HeadKernel::sums
  } what;
  int index = 0, component = 0;
  friend bool operator==(const SetPointer&, const SetPointer&) = default;
};

struct SetKernel {
  std::string name, source;
  std::vector<SetPointer> pointers;
};

// One thread per point.
SetKernel input_kernel(std::span<const CompiledPointSet* const> sets, const net::Tape& tape,
                       const net::KernelOptions& options);

// One warp per point. Partial sums of a thread block, one row: the sum of point weight * residual^2 of every
// term (all sets, in order), then the bars of the unknowns, then those of the output layer's bias.
struct HeadKernel : SetKernel {
  std::size_t sums = 0;
};
inline constexpr int kHeadWarps = 8;  // per thread block

enum class HeadMode {
  values,    // of the expressions
  gradient,  // sums of squares and the cotangent they send back
  signals,  // values, and the cotangent d residual / d residual = scale of its term, the same at every point;
            // nothing is summed, the bars of the unknowns are stored point by point
};
HeadKernel head_kernel(std::span<const CompiledPointSet* const> sets, const net::Tape& tape, int unknowns,
                       HeadMode mode, const net::KernelOptions& options);

}  // namespace lather::pde
