#include "lather/pde/engine/point_set_evaluator.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace lather::pde {

using What = Slot::What;

namespace {

std::vector<int> positions(const std::vector<Slot>& slots, What what) {
  std::vector<int> found;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].what == what) found.push_back(static_cast<int>(i));
  return found;
}

int highest(const std::vector<Slot>& slots, What what) {
  int top = -1;
  for (const auto& slot : slots)
    if (slot.what == what) top = std::max(top, slot.index);
  return top;
}

}  // namespace

template <class T>
PointSetEvaluator<T>::PointSetEvaluator(const CompiledPointSet& set, const net::Tape& tape,
                                        std::size_t tile_points, std::size_t group)
    : set_(&set),
      tape_(&tape),
      group_(group),
      executor_(tape, set.tape, tile_points),
      input_(set.input),
      value_machine_(set.values, {positions(set.values_inputs, What::unknown), {}}),
      adjoint_machine_(set.adjoint, {positions(set.adjoint_inputs, What::unknown),
                                     positions(set.adjoint_outputs, What::unknown_bar)}),
      pointwise_adjoint_machine_(set.adjoint, {positions(set.adjoint_inputs, What::unknown), {}}) {
  const std::size_t outputs = tape.output().width;
  coordinates_.resize(set.jets.dimensions());
  columns_.resize(highest(set.values_inputs, What::column) + 1);
  input_arrays_.resize(set.input_outputs.size());
  values_.resize(set.values.outputs);
  bars_.resize(set.values.outputs);
  output_index_.assign(outputs, std::vector<int>(set.jets.size(), -1));
  int arrays = 0;
  for (const auto& slot : set.values_inputs)
    if (slot.what == What::output) output_index_[slot.index][slot.component] = arrays++;
  output_arrays_.resize(arrays);
  output_bar_arrays_.resize(arrays);
  const int unknowns =
      std::max(highest(set.values_inputs, What::unknown), highest(set.adjoint_outputs, What::unknown_bar)) +
      1;
  unknown_bar_arrays_.resize(unknowns);

  std::vector<std::vector<T*>*> groups{
      &coordinates_, &columns_,       &input_arrays_,      &values_,
      &bars_,        &output_arrays_, &output_bar_arrays_, &unknown_bar_arrays_};
  std::size_t total = 0;
  for (const auto* group : groups) total += group->size();
  const std::size_t length = linalg::padded_columns<T>(tile_points);
  scratch_ = Buffer<T>(total * length);
  T* next = scratch_.data();
  for (auto* group : groups)
    for (T*& array : *group) array = std::exchange(next, next + length);
  unknowns_.resize(unknowns);
  in_.resize(std::max({set.values_inputs.size(), set.adjoint_inputs.size(), set.input_coordinates.size()}));
  out_.resize(std::max({set.values.outputs, set.adjoint.outputs, set.input.outputs}));
}

template <class T>
const T* PointSetEvaluator<T>::source(const Slot& slot) {
  switch (slot.what) {
    case What::coordinate: return coordinates_[slot.index];
    case What::column: return columns_[slot.index];
    case What::unknown: return &unknowns_[slot.index];
    case What::output: return output_arrays_[output_index_[slot.index][slot.component]];
    default: return bars_[slot.index];
  }
}

template <class T>
void PointSetEvaluator<T>::load_inputs(const Points& points, std::size_t begin, std::size_t count) {
  const auto load = [&](const std::vector<double>& from, T* to) {
    if (group_ == 1) {
      std::copy_n(from.data() + begin, count, to);
      return;
    }
    const std::size_t groups = count / group_;
    for (std::size_t q = 0; q < groups; ++q)
      for (std::size_t j = 0; j < group_; ++j)
        to[j * groups + q] = static_cast<T>(from[begin + q * group_ + j]);
  };
  for (std::size_t i = 0; i < coordinates_.size(); ++i) load(points.coordinates[i], coordinates_[i]);
  for (std::size_t k = 0; k < columns_.size(); ++k) load(points.columns[k], columns_[k]);
  executor_.begin(count);

  for (std::size_t i = 0; i < set_->input_coordinates.size(); ++i)
    in_[i] = coordinates_[set_->input_coordinates[i]];
  input_.run(count, std::span<const T* const>(in_.data(), set_->input_coordinates.size()),
             std::span<T* const>(input_arrays_));

  const auto rows = executor_.input();
  std::fill_n(rows.data, set_->jets.size() * count * rows.stride, T(0));
  const auto column = [&](const CompiledPointSet::InputComponent& where) {
    return rows.data + where.component * count * rows.stride + where.input;
  };
  for (std::size_t k = 0; k < set_->input_outputs.size(); ++k) {
    T* target = column(set_->input_outputs[k]);
    for (std::size_t p = 0; p < count; ++p) target[p * rows.stride] = input_arrays_[k][p];
  }
  for (const auto& constant : set_->input_constants) {
    T* target = column(constant.where);
    for (std::size_t p = 0; p < count; ++p) target[p * rows.stride] = static_cast<T>(constant.value);
  }
}

template <class T>
void PointSetEvaluator<T>::evaluate(const Points& points, std::size_t begin, std::size_t count,
                                    const net::LayerWeights<T>& weights, std::span<const double> unknowns) {
  load_inputs(points, begin, count);
  executor_.forward(weights);
  const auto rows = executor_.output();
  for (std::size_t k = 0; k < output_index_.size(); ++k)
    for (std::size_t c = 0; c < output_index_[k].size(); ++c) {
      if (output_index_[k][c] < 0) continue;
      T* target = output_arrays_[output_index_[k][c]];
      const T* from = rows.data + c * count * rows.stride + k;
      for (std::size_t p = 0; p < count; ++p) target[p] = from[p * rows.stride];
    }
  for (std::size_t k = 0; k < unknowns_.size(); ++k) unknowns_[k] = static_cast<T>(unknowns[k]);
  for (std::size_t i = 0; i < set_->values_inputs.size(); ++i) in_[i] = source(set_->values_inputs[i]);
  value_machine_.run(count, std::span<const T* const>(in_.data(), set_->values_inputs.size()),
                     std::span<T* const>(values_));
}

// Turns bars of the expressions into bars of the network's outputs; those of the unknowns are summed into
// unknown_bars or, if that is empty, kept per point.
template <class T>
void PointSetEvaluator<T>::run_adjoint(symbolic::Machine<T>& machine, std::span<T> unknown_bars) {
  const std::size_t count = executor_.points();
  for (std::size_t i = 0; i < set_->adjoint_inputs.size(); ++i) in_[i] = source(set_->adjoint_inputs[i]);
  for (std::size_t j = 0; j < set_->adjoint_outputs.size(); ++j) {
    const Slot& slot = set_->adjoint_outputs[j];
    if (slot.what == What::output_bar)
      out_[j] = output_bar_arrays_[output_index_[slot.index][slot.component]];
    else
      out_[j] = unknown_bars.empty() ? unknown_bar_arrays_[slot.index] : &unknown_bars[slot.index];
  }
  machine.run(count, std::span<const T* const>(in_.data(), set_->adjoint_inputs.size()),
              std::span<T* const>(out_.data(), set_->adjoint_outputs.size()));
  const auto rows = executor_.output_bar();
  for (std::size_t k = 0; k < output_index_.size(); ++k)
    for (std::size_t c = 0; c < output_index_[k].size(); ++c) {
      T* target = rows.data + c * count * rows.stride + k;
      const int array = output_index_[k][c];
      for (std::size_t p = 0; p < count; ++p)
        target[p * rows.stride] = array < 0 ? T(0) : output_bar_arrays_[array][p];
    }
}

template <class T>
void PointSetEvaluator<T>::backward(const net::LayerWeights<T>& weights,
                                    net::LayerGradients<double>& gradients, std::span<double> unknown_bars) {
  if constexpr (std::is_same_v<T, double>) {
    run_adjoint(adjoint_machine_, unknown_bars);
    executor_.backward(weights, gradients);
  } else {
    if (!tile_gradients_) tile_gradients_ = std::make_unique<net::LayerGradients<T>>(*tape_);
    tile_gradients_->zero();
    tile_unknown_bars_.assign(unknown_bars.size(), T(0));
    run_adjoint(adjoint_machine_, tile_unknown_bars_);
    executor_.backward(weights, *tile_gradients_);
    gradients.add(*tile_gradients_);
    for (std::size_t u = 0; u < unknown_bars.size(); ++u) unknown_bars[u] += tile_unknown_bars_[u];
  }
}

template <class T>
void PointSetEvaluator<T>::visit_backward(const net::LayerWeights<T>& weights,
                                          const typename net::TileExecutor<T>::Visitor& visitor) {
  run_adjoint(pointwise_adjoint_machine_, {});
  executor_.visit_backward(weights, visitor);
}

template class PointSetEvaluator<double>;
template class PointSetEvaluator<float>;

}  // namespace lather::pde
