#pragma once
// Jets: a function together with some of its partial derivatives. Whatever is
// written as a value (an activation, a gate, an ansatz) gets its derivatives
// (Faà di Bruno, Leibniz) and their adjoint here, by differentiating that value.

#include <array>
#include <cstdint>
#include <optional>

#include "lather/symbolic/expression.hpp"

namespace lather::symbolic {

inline constexpr int kMaxDimensions = 10;
// Nothing below depends on it: it is as far as the tests go. Programs grow with the number of partitions of
// an order, and only sets that hold high orders pay for that.
inline constexpr int kMaxOrder = 6;

// Orders of differentiation: {2, 1} is d^3/dx^2 dt.
struct MultiIndex {
  std::array<std::uint8_t, kMaxDimensions> order{};
  int total() const;
  MultiIndex plus(int direction) const;
  // One order less along the first direction that has any; the index must not be zero.
  struct Lowered;
  Lowered lowered() const;
  friend auto operator<=>(const MultiIndex&, const MultiIndex&) = default;
};

struct MultiIndex::Lowered {
  MultiIndex index;
  int direction;
};

// Which derivatives are carried: a downward-closed set of multi-indices, the value
// first, then by total order; at the end, if wanted, one collapsed Laplacian sum_i
// w_i d^2/dx_i^2 in place of the second derivatives it is made of.
class JetSet {
 public:
  // The smallest downward-closed set that contains `wanted` (and what the Laplacian needs).
  static JetSet closure(int dimensions, std::span<const MultiIndex> wanted,
                        std::vector<double> laplacian_weights = {});

  int dimensions() const { return dimensions_; }
  const std::vector<MultiIndex>& derivatives() const { return derivatives_; }
  bool has_laplacian() const { return !laplacian_.empty(); }
  const std::vector<double>& laplacian_weights() const { return laplacian_; }  // one per coordinate, or none
  int highest_order() const;  // a collapsed Laplacian is of order 2
  int size() const { return static_cast<int>(derivatives_.size()) + (has_laplacian() ? 1 : 0); }
  int laplacian_component() const { return static_cast<int>(derivatives_.size()); }
  std::optional<int> component(const MultiIndex& derivative) const;
  std::string component_name(int component,
                             std::span<const std::string> coordinates) const;  // "", "x", "xt", "laplacian"
  friend bool operator==(const JetSet&, const JetSet&) = default;

 private:
  int dimensions_ = 0;
  std::vector<MultiIndex> derivatives_;
  std::vector<double> laplacian_;
};

// A function of one argument kept opaque while jets are formed, so that its k-th
// derivative is computed once per point and not spread over the terms: activations.
// `value` is an expression in `argument`, `name` a symbol that stands for it.
struct OpaqueFunction {
  Expr name;      // stands for f(argument) in the value the jets are taken of
  Expr argument;  // a symbol
  Expr value;     // f(argument)
};

// The jets of out = value(inputs, parameters) and their adjoint, as expressions.
//   inputs[i][c]          symbol: component c of input i
//   outputs[c]            component c of the result
//   output_bars[c]        symbol: d loss / d outputs[c]
//   input_bars[i][c]      d loss / d inputs[i][c]
//   parameter_bars[p]     d loss / d parameter p, to be summed over all points
struct JetRule {
  std::vector<std::vector<Expr>> inputs;
  std::vector<Expr> outputs;
  std::vector<Expr> output_bars;
  std::vector<std::vector<Expr>> input_bars;
  std::vector<Expr> parameter_bars;
};

// `arguments` are the symbols in `value` that stand for the
// inputs; parameters do not depend on the coordinates.
JetRule derive_jets(const JetSet& set, Expr value, std::span<const Expr> arguments,
                    std::span<const Expr> parameters = {}, std::optional<OpaqueFunction> opaque = {});

}  // namespace lather::symbolic
