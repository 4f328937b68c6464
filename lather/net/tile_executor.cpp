#include "lather/net/tile_executor.hpp"

#include <algorithm>
#include <map>

namespace lather::net {

using What = ArrayRef::What;

template <class T>
TileExecutor<T>::TileExecutor(const Tape& tape, const JetTape& jet_tape, std::size_t capacity)
    : tape_(&tape), jet_tape_(&jet_tape), capacity_(capacity), components_(jet_tape.jets.size()) {
  for (int width : tape.buffer_widths()) {
    const std::size_t stride = linalg::padded_width<T>(width);
    buffers_.push_back({Buffer<T>(components_ * capacity * stride), -1, stride});
  }
  assign_bars(tape);
  for (std::size_t i = 0; i < tape.operations().size(); ++i) {
    PointwiseState state;
    if (const auto& op = tape.operations()[i].pointwise) {
      const auto& program = jet_tape.programs[i];
      const auto positions = [](const std::vector<ArrayRef>& list, What what) {
        std::vector<int> found;
        for (std::size_t k = 0; k < list.size(); ++k)
          if (list[k].what == what) found.push_back(static_cast<int>(k));
        return found;
      };
      state.forward = std::make_unique<symbolic::Machine<T>>(
          program.forward, symbolic::Binding{positions(program.forward_inputs, What::scalar), {}});
      if (!program.adjoint_outputs.empty())
        state.adjoint = std::make_unique<symbolic::Machine<T>>(
            program.adjoint, symbolic::Binding{positions(program.adjoint_inputs, What::scalar),
                                               positions(program.adjoint_outputs, What::scalar_bar)});
      const std::size_t stride = buffers_[op->out.buffer].stride;
      const auto is_whole = [&](const Value& v) {
        return v.offset == 0 && v.width == tape.buffer_widths()[v.buffer] &&
               buffers_[v.buffer].stride == stride;
      };
      state.whole = is_whole(op->out) && std::all_of(op->in.begin(), op->in.end(), is_whole);
      for (int k = 0; k < program.stashes; ++k) state.stashes.emplace_back(capacity * stride);
      state.inputs.resize(std::max(program.forward_inputs.size(), program.adjoint_inputs.size()));
      state.outputs.resize(std::max(program.forward_outputs.size(), program.adjoint_outputs.size()));
    }
    pointwise_.push_back(std::move(state));
  }
}

// A bar lives from the last operation that reads its buffer to
// the first that writes it; buffers of equal width take turns.
template <class T>
void TileExecutor<T>::assign_bars(const Tape& tape) {
  std::map<std::size_t, std::vector<int>> free;  // by stride
  std::vector<std::size_t> slot_stride;
  const auto ensure = [&](int buffer) {
    Storage& storage = buffers_[buffer];
    if (storage.bar_slot >= 0) return;
    auto& available = free[storage.stride];
    if (available.empty()) {
      storage.bar_slot = static_cast<int>(bar_slots_.size());
      bar_slots_.emplace_back(components_ * capacity_ * storage.stride);
    } else {
      storage.bar_slot = available.back();
      available.pop_back();
    }
  };
  const auto& operations = tape.operations();
  std::vector<std::size_t> first_writer(buffers_.size(), operations.size());
  const auto out_of = [&](std::size_t i) {
    return operations[i].dense ? operations[i].dense->out : operations[i].pointwise->out;
  };
  for (std::size_t i = operations.size(); i-- > 0;) first_writer[out_of(i).buffer] = i;

  ensure(tape.output().buffer);
  for (std::size_t i = operations.size(); i-- > 0;) {
    const std::vector<Value> inputs =
        operations[i].dense ? std::vector{operations[i].dense->in} : operations[i].pointwise->in;
    for (const Value& in : inputs)
      if (jet_tape_->needs_bar[in.buffer]) ensure(in.buffer);
    const int out = out_of(i).buffer;
    // The output's bar is written by the caller, possibly for several
    // backward passes, so its slot is not reused.
    if (first_writer[out] == i && buffers_[out].bar_slot >= 0 && out != tape.output().buffer)
      free[buffers_[out].stride].push_back(buffers_[out].bar_slot);
  }
}

template <class T>
std::size_t TileExecutor<T>::bytes() const {
  std::size_t total = 0;
  for (const auto& b : buffers_) total += b.values.size();
  for (const auto& b : bar_slots_) total += b.size();
  for (const auto& p : pointwise_)
    for (const auto& s : p.stashes) total += s.size();
  return total * sizeof(T);
}

template <class T>
T* TileExecutor<T>::component(const Value& value, int c) {
  Storage& storage = buffers_[value.buffer];
  return storage.values.data() + c * points_ * storage.stride + value.offset;
}

template <class T>
T* TileExecutor<T>::bar_component(const Value& value, int c) {
  Storage& storage = buffers_[value.buffer];
  return bar_slots_[storage.bar_slot].data() + c * points_ * storage.stride + value.offset;
}

template <class T>
typename TileExecutor<T>::Rows TileExecutor<T>::input() {
  return {component(tape_->input(), 0), buffers_[0].stride};
}
template <class T>
typename TileExecutor<T>::Rows TileExecutor<T>::output() {
  return {component(tape_->output(), 0), buffers_[tape_->output().buffer].stride};
}
template <class T>
typename TileExecutor<T>::Rows TileExecutor<T>::output_bar() {
  return {bar_component(tape_->output(), 0), buffers_[tape_->output().buffer].stride};
}

template <class T>
typename TileExecutor<T>::Place TileExecutor<T>::place(const Pointwise& op, const PointwiseState& state,
                                                       const ArrayRef& array) {
  switch (array.what) {
    case What::in:
      return {component(op.in[array.index], array.component), buffers_[op.in[array.index].buffer].stride};
    case What::out: return {component(op.out, array.component), buffers_[op.out.buffer].stride};
    case What::out_bar: return {bar_component(op.out, array.component), buffers_[op.out.buffer].stride};
    case What::in_bar:
      return {bar_component(op.in[array.index], array.component), buffers_[op.in[array.index].buffer].stride};
    case What::stash:
      return {const_cast<T*>(state.stashes[array.index].data()), buffers_[op.out.buffer].stride};
    default: return {nullptr, 0};
  }
}

// `gradients` receives the sums over points of scalar bars;
// without it they are kept per point, in scalars_per_point_.
template <class T>
void TileExecutor<T>::run(const Pointwise& op, PointwiseState& state, symbolic::Machine<T>& machine,
                          const std::vector<ArrayRef>& in, const std::vector<ArrayRef>& out,
                          const LayerWeights<T>& weights, LayerGradients<T>* gradients) {
  const bool point_by_point = !state.whole || (!gradients && !op.scalars.empty());
  const std::size_t runs = point_by_point ? points_ : 1;
  const std::size_t length = point_by_point ? op.out.width : points_ * buffers_[op.out.buffer].stride;
  for (std::size_t row = 0; row < runs; ++row) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (in[k].what == What::scalar) {
        state.inputs[k] = &weights.scalar(op.scalars[in[k].index]);
      } else {
        const Place p = place(op, state, in[k]);
        state.inputs[k] = p.data + row * p.stride;
      }
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (out[k].what == What::scalar_bar) {
        state.outputs[k] =
            gradients ? &gradients->scalar(op.scalars[out[k].index]) : &scalars_per_point_[out[k].index][row];
      } else {
        const Place p = place(op, state, out[k]);
        state.outputs[k] = p.data + row * p.stride;
      }
    }
    machine.run(length, std::span<const T* const>(state.inputs.data(), in.size()),
                std::span<T* const>(state.outputs.data(), out.size()));
  }
}

template <class T>
void TileExecutor<T>::forward(const LayerWeights<T>& weights) {
  const std::size_t rows = components_ * points_;
  for (std::size_t i = 0; i < tape_->operations().size(); ++i) {
    const auto& operation = tape_->operations()[i];
    if (const auto& d = operation.dense) {
      const auto& layer = weights.layer(i);
      linalg::multiply(rows, component(d->in, 0), buffers_[d->in.buffer].stride, layer.weight,
                       component(d->out, 0), buffers_[d->out.buffer].stride,
                       layer.bias.size() ? layer.bias.data() : nullptr, points_, false);
    } else {
      const auto& program = jet_tape_->programs[i];
      run(*operation.pointwise, pointwise_[i], *pointwise_[i].forward, program.forward_inputs,
          program.forward_outputs, weights, nullptr);
    }
  }
}

template <class T>
void TileExecutor<T>::backward(const LayerWeights<T>& weights, LayerGradients<T>& gradients) {
  backward(weights, &gradients, nullptr);
}

template <class T>
void TileExecutor<T>::visit_backward(const LayerWeights<T>& weights, const Visitor& visitor) {
  backward(weights, nullptr, &visitor);
}

template <class T>
void TileExecutor<T>::backward(const LayerWeights<T>& weights, LayerGradients<T>* gradients,
                               const Visitor* visitor) {
  const std::size_t rows = components_ * points_;
  for (std::size_t i = tape_->operations().size(); i-- > 0;) {
    const auto& operation = tape_->operations()[i];
    if (const auto& d = operation.dense) {
      const Storage &in = buffers_[d->in.buffer], &out = buffers_[d->out.buffer];
      if (out.bar_slot < 0) continue;  // nothing trainable here or upstream
      const T* out_bar = bar_component(d->out, 0);
      if (!d->weight.frozen && gradients) {
        auto& layer = gradients->layer(i);
        linalg::add_outer(rows, component(d->in, 0), in.stride, d->in.width, out_bar, out.stride,
                          d->out.width, layer.weight.data(), layer.stride);
        if (layer.bias.size())
          linalg::add_column_sums(points_, out_bar, out.stride, d->out.width, layer.bias.data());
      }
      if (!d->weight.frozen && visitor)
        visitor->layer({i, component(d->in, 0), in.stride, out_bar, out.stride, points_, components_});
      if (jet_tape_->needs_bar[d->in.buffer])
        linalg::multiply(rows, out_bar, out.stride, weights.layer(i).transposed, bar_component(d->in, 0),
                         in.stride, static_cast<const T*>(nullptr), 0, jet_tape_->accumulates[i][0] != 0);
    } else if (pointwise_[i].adjoint && buffers_[operation.pointwise->out.buffer].bar_slot >= 0) {
      const auto& op = *operation.pointwise;
      const auto& program = jet_tape_->programs[i];
      if (visitor) {
        while (scalars_per_point_.size() < op.scalars.size()) scalars_per_point_.emplace_back(capacity_);
        for (auto& values : scalars_per_point_) values.zero();
      }
      run(op, pointwise_[i], *pointwise_[i].adjoint, program.adjoint_inputs, program.adjoint_outputs, weights,
          gradients);
      if (visitor)
        for (std::size_t k = 0; k < op.scalars.size(); ++k)
          visitor->scalar(op.scalars[k], std::span<const T>(scalars_per_point_[k].data(), points_));
    }
  }
}

template class TileExecutor<double>;
template class TileExecutor<float>;

}  // namespace lather::net
