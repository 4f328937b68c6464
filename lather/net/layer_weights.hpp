#pragma once
// A network's weights in the form the kernels need, rebuilt from the flat parameters at every step, and the
// gradient accumulated by one thread.

#include <span>
#include <vector>

#include "lather/core/buffer.hpp"
#include "lather/linalg/gemm.hpp"
#include "lather/net/tape.hpp"

namespace lather::net {

template <class T>
class LayerWeights {
 public:
  explicit LayerWeights(const Tape& tape);
  void update(std::span<const double> parameters, std::span<const double> frozen);

  struct Layer {
    linalg::PackedMatrix<T> weight, transposed;
    Buffer<T> bias;  // empty: none
  };
  const Layer& layer(std::size_t operation) const { return layers_[operation]; }
  const T& scalar(int block) const { return scalars_[block]; }

 private:
  const Tape* tape_;
  std::vector<Layer> layers_;  // one per operation, empty for pointwise ones
  std::vector<T> scalars_;     // by block
  std::vector<double> product_;
};

// d loss / d effective weights, summed by one thread over its tiles. In single precision, of one tile only:
// sums over tiles are in double precision.
template <class T>
class LayerGradients {
 public:
  explicit LayerGradients(const Tape& tape);
  void zero();
  template <class U>
  void add(const LayerGradients<U>& other);  // of the same tape
  // All numbers as one array, for other ranks: its size, elements [begin, begin + count), and all of it back.
  std::size_t size() const;
  void copy(std::size_t begin, std::size_t count, T* to) const;
  void assign(std::span<const T> from);

  struct Layer {
    Buffer<T> weight;  // rows × stride
    std::size_t stride = 0;
    Buffer<T> bias;
  };
  Layer& layer(std::size_t operation) { return layers_[operation]; }
  T& scalar(int block) { return scalars_[block]; }
  const Layer& layer(std::size_t operation) const { return layers_[operation]; }
  const T& scalar(int block) const { return scalars_[block]; }

  // The gradient with respect to the flat parameters (overwritten), factorized weights included.
  void write(std::span<const double> parameters, std::span<double> gradient) const;

 private:
  // Calls f(array, size) for the arrays that hold the gradient.
  template <class Self, class F>
  static void over_arrays(Self& self, const F& f) {
    for (auto& layer : self.layers_) {
      f(layer.weight.data(), layer.weight.size());
      f(layer.bias.data(), layer.bias.size());
    }
    f(self.scalars_.data(), self.scalars_.size());
  }

  const Tape* tape_;
  std::vector<Layer> layers_;
  std::vector<T> scalars_;
};

}  // namespace lather::net
