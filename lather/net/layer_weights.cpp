#include "lather/net/layer_weights.hpp"

#include <algorithm>

namespace lather::net {

template <class T>
LayerWeights<T>::LayerWeights(const Tape& tape)
    : tape_(&tape), layers_(tape.operations().size()), scalars_(tape.parameters().blocks().size()) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto& dense = tape.operations()[i].dense;
    if (!dense) continue;
    largest = std::max(largest, tape.block(dense->weight).size());
    if (dense->bias) layers_[i].bias = Buffer<T>(linalg::padded_columns<T>(dense->out.width));
  }
  product_.resize(largest);
}

template <class T>
void LayerWeights<T>::update(std::span<const double> parameters, std::span<const double> frozen) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto& operation = tape_->operations()[i];
    if (!operation.dense) {
      for (int block : operation.pointwise->scalars)
        scalars_[block] = static_cast<T>(parameters[tape_->parameters().blocks()[block].offset]);
      continue;
    }
    const Dense& dense = *operation.dense;
    const auto values = [&](WeightRef ref) {
      return (ref.frozen ? frozen : parameters).data() + tape_->block(ref).offset;
    };
    const auto& block = tape_->block(dense.weight);
    const double* weight = values(dense.weight);
    if (dense.scale) {  // W = V diag(g)
      const double* g = values(dense.scale);
      for (std::size_t r = 0; r < block.rows; ++r)
        for (std::size_t c = 0; c < block.cols; ++c)
          product_[r * block.cols + c] = weight[r * block.cols + c] * g[c];
      weight = product_.data();
    }
    layers_[i].weight.pack(weight, block.rows, block.cols, false);
    layers_[i].transposed.pack(weight, block.rows, block.cols, true);
    if (dense.bias) std::copy_n(values(dense.bias), block.cols, layers_[i].bias.data());
  }
}

template <class T>
LayerGradients<T>::LayerGradients(const Tape& tape)
    : tape_(&tape), layers_(tape.operations().size()), scalars_(tape.parameters().blocks().size()) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto& dense = tape.operations()[i].dense;
    if (!dense || dense->weight.frozen) continue;
    const auto& block = tape.block(dense->weight);
    layers_[i].stride = linalg::padded_width<T>(block.cols);
    layers_[i].weight = Buffer<T>(block.rows * layers_[i].stride);
    if (dense->bias) layers_[i].bias = Buffer<T>(linalg::padded_columns<T>(block.cols));
  }
}

template <class T>
void LayerGradients<T>::zero() {
  for (auto& layer : layers_) {
    layer.weight.zero();
    layer.bias.zero();
  }
  std::fill(scalars_.begin(), scalars_.end(), T(0));
}

template <class T>
template <class U>
void LayerGradients<T>::add(const LayerGradients<U>& other) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& to = layers_[i];
    const auto& from = other.layer(i);
    if (to.stride == 0) continue;
    const std::size_t rows = to.weight.size() / to.stride, columns = std::min(to.stride, from.stride);
    for (std::size_t r = 0; r < rows; ++r)  // row padding depends on the type
      for (std::size_t c = 0; c < columns; ++c)
        to.weight[r * to.stride + c] += from.weight[r * from.stride + c];
    const std::size_t biases = std::min(to.bias.size(), from.bias.size());
    for (std::size_t c = 0; c < biases; ++c) to.bias[c] += from.bias[c];
  }
  for (std::size_t s = 0; s < scalars_.size(); ++s) scalars_[s] += other.scalar(static_cast<int>(s));
}

template <class T>
std::size_t LayerGradients<T>::size() const {
  std::size_t total = 0;
  over_arrays(*this, [&](const T*, std::size_t size) { total += size; });
  return total;
}

template <class T>
void LayerGradients<T>::copy(std::size_t begin, std::size_t count, T* to) const {
  std::size_t at = 0;
  over_arrays(*this, [&](const T* values, std::size_t size) {
    const std::size_t first = std::max(begin, at), last = std::min(begin + count, at + size);
    if (first < last) std::copy_n(values + (first - at), last - first, to + (first - begin));
    at += size;
  });
}

template <class T>
void LayerGradients<T>::assign(std::span<const T> from) {
  std::size_t at = 0;
  over_arrays(*this, [&](T* values, std::size_t size) {
    std::copy_n(from.data() + at, size, values);
    at += size;
  });
}

template <class T>
void LayerGradients<T>::write(std::span<const double> parameters, std::span<double> gradient) const {
  const auto& blocks = tape_->parameters().blocks();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto& operation = tape_->operations()[i];
    if (!operation.dense) {
      for (int block : operation.pointwise->scalars) gradient[blocks[block].offset] = scalars_[block];
      continue;
    }
    const Dense& dense = *operation.dense;
    if (dense.weight.frozen) continue;
    const auto& block = blocks[dense.weight.block];
    const auto& layer = layers_[i];
    double* weight_bar = gradient.data() + block.offset;
    for (std::size_t r = 0; r < block.rows; ++r)
      std::copy_n(layer.weight.data() + r * layer.stride, block.cols, weight_bar + r * block.cols);
    if (dense.bias)
      std::copy_n(layer.bias.data(), block.cols, gradient.data() + blocks[dense.bias.block].offset);
    if (!dense.scale) continue;
    // W = V diag(g): V_bar = W_bar diag(g), g_bar = column sums of W_bar * V
    const auto& scale = blocks[dense.scale.block];
    const double* v = parameters.data() + block.offset;
    const double* g = parameters.data() + scale.offset;
    double* g_bar = gradient.data() + scale.offset;
    std::fill_n(g_bar, block.cols, 0.0);
    for (std::size_t r = 0; r < block.rows; ++r)
      for (std::size_t c = 0; c < block.cols; ++c) {
        g_bar[c] += weight_bar[r * block.cols + c] * v[r * block.cols + c];
        weight_bar[r * block.cols + c] *= g[c];
      }
  }
}

template class LayerWeights<double>;
template class LayerWeights<float>;
template class LayerGradients<double>;
template class LayerGradients<float>;
template void LayerGradients<double>::add(const LayerGradients<double>&);
template void LayerGradients<double>::add(const LayerGradients<float>&);

}  // namespace lather::net
