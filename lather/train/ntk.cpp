#include "lather/train/ntk.hpp"

#include <algorithm>
#include <numeric>

namespace lather::train {

namespace {

using Signals = pde::PinnObjective::Signals;

class DenseDiagonal {
 public:
  DenseDiagonal(const net::Tape& tape, std::span<const double> x, std::span<double> k)
      : tape_(tape), x_(x), k_(k) {
    for (const auto& operation : tape.operations())
      if (operation.dense && !operation.dense->weight.frozen) {
        layers_.resize(std::max<std::size_t>(layers_.size(), operation.dense->weight.block + 1));
        layers_[operation.dense->weight.block] = &*operation.dense;
      }
  }

  void add(const Signals& s) {
    const net::Dense& layer = *layers_[s.block];
    const std::size_t in = layer.in.width, out = layer.out.width;
    const double* g = layer.scale ? x_.data() + tape_.block(layer.scale).offset : nullptr;
    for (std::size_t p = 0; p < s.points; ++p) {
      const auto a = [&](int c) { return s.in + (c * s.points + p) * s.in_stride; };
      const auto z = [&](int c) { return s.out_bar + (c * s.points + p) * s.out_stride; };
      double sum = 0;
      for (int c = 0; c < s.components; ++c)
        for (int d = 0; d <= c; ++d)
          sum += (c == d ? 1 : 2) * dot(a(c), a(d), in) * scaled_dot(z(c), z(d), g, out);
      if (layer.bias) sum += dot(z(0), z(0), out);
      if (g) {
        g_bar_.assign(out, 0.0);
        const double* v = x_.data() + tape_.block(layer.weight).offset;
        for (int c = 0; c < s.components; ++c)
          for (std::size_t i = 0; i < in; ++i)
            for (std::size_t j = 0; j < out; ++j) g_bar_[j] += z(c)[j] * a(c)[i] * v[i * out + j];
        sum += dot(g_bar_.data(), g_bar_.data(), out);
      }
      k_[s.first_point + p] += sum;
    }
  }

 private:
  static double dot(const double* a, const double* b, std::size_t n) {
    return std::inner_product(a, a + n, b, 0.0);
  }
  // sum_j (g_j a_j) (g_j b_j); without g: all 1
  static double scaled_dot(const double* a, const double* b, const double* g, std::size_t n) {
    if (!g) return dot(a, b, n);
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += g[j] * g[j] * a[j] * b[j];
    return sum;
  }

  const net::Tape& tape_;
  std::span<const double> x_;
  std::span<double> k_;
  std::vector<const net::Dense*> layers_;  // by block of the weight
  std::vector<double> g_bar_;
};

}  // namespace

std::vector<double> ntk_diagonal(pde::PinnObjective& objective, std::span<const double> x, int term) {
  std::vector<double> k(objective.points(objective.problem().terms.at(term).point_set).count());
  DenseDiagonal dense(objective.tape(), x, k);
  objective.visit_signals(x, term, [&](const Signals& s) { dense.add(s); });
  objective.visit_scalar_signals(x, term, [&](const pde::PinnObjective::ScalarSignals& s) {
    for (std::size_t p = 0; p < s.points; ++p) k[s.first_point + p] += s.values[p] * s.values[p];
  });
  return k;
}

double ntk_trace(pde::PinnObjective& objective, std::span<const double> x, int term) {
  const auto k = ntk_diagonal(objective, x, term);
  return std::accumulate(k.begin(), k.end(), 0.0);
}

}  // namespace lather::train
