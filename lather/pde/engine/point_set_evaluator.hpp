#pragma once
// Evaluates a CompiledPointSet on one tile of points after another: one worker per thread.

#include <memory>

#include "lather/net/tile_executor.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/points.hpp"

namespace lather::pde {

// Adds up the values of a tile's points by groups of `group`, which are interleaved.
template <class From, class To>
void add_groups(const From* values, std::size_t points, std::size_t group, To* sums) {
  const std::size_t groups = points / group;
  for (std::size_t q = 0; q < groups; ++q) {
    double sum = 0;
    for (std::size_t j = 0; j < group; ++j) sum += static_cast<double>(values[j * groups + q]);
    sums[q] = static_cast<To>(group == 1 ? values[q] : sum);
  }
}

template <class T>
class PointSetEvaluator {
 public:
  // `group`: this many consecutive points belong together. In a tile their arrays are interleaved: the first
  // points of all groups, then the second ones, and so on.
  PointSetEvaluator(const CompiledPointSet& set, const net::Tape& tape, std::size_t tile_points,
                    std::size_t group = 1);

  std::size_t tile_points() const { return executor_.capacity(); }
  std::size_t bytes() const { return executor_.bytes() + scratch_.size() * sizeof(T); }

  // Points [begin, begin + count) of `points`: network forward,
  // then the expressions. values(e) holds them afterwards.
  void evaluate(const Points& points, std::size_t begin, std::size_t count,
                const net::LayerWeights<T>& weights, std::span<const double> unknowns);
  const T* values(int expression) const { return values_[expression]; }

  // Set bars(e) for every expression, then call backward: it adds to the gradients, in double precision
  // whatever T is.
  T* bars(int expression) { return bars_[expression]; }
  void backward(const net::LayerWeights<T>& weights, net::LayerGradients<double>& gradients,
                std::span<double> unknown_bars);
  // The same point by point: layer signals and derivatives with respect to network scalars
  // through `visitor`, those with respect to unknowns through unknown_bars(u).
  void visit_backward(const net::LayerWeights<T>& weights,
                      const typename net::TileExecutor<T>::Visitor& visitor);
  std::span<const T> unknown_bars(int unknown) const {
    return {unknown_bar_arrays_[unknown], executor_.points()};
  }

 private:
  void load_inputs(const Points& points, std::size_t begin, std::size_t count);
  const T* source(const Slot& slot);
  void run_adjoint(symbolic::Machine<T>& machine, std::span<T> unknown_bars);

  const CompiledPointSet* set_;
  const net::Tape* tape_;
  std::size_t group_;
  net::TileExecutor<T> executor_;
  symbolic::Machine<T> input_, value_machine_;
  symbolic::Machine<T> adjoint_machine_,
      pointwise_adjoint_machine_;  // unknowns summed over points, and point by point
  Buffer<T> scratch_;
  // Arrays of one tile, in scratch_.
  std::vector<T*> coordinates_, columns_, input_arrays_, output_arrays_, output_bar_arrays_,
      unknown_bar_arrays_, values_, bars_;
  std::vector<T> unknowns_;
  std::vector<std::vector<int>> output_index_;  // [output][component] -> output_arrays_, -1 if not read
  std::vector<const T*> in_;
  std::vector<T*> out_;
  // Single precision: the sums of one tile.
  std::unique_ptr<net::LayerGradients<T>> tile_gradients_;
  std::vector<T> tile_unknown_bars_;
};

}  // namespace lather::pde
