#include "lather/train/weighting/ntk.hpp"

#include <algorithm>
#include <numeric>

namespace lather::train {

namespace {

// For one layer and point p: sum over components c, d of (a_c . a_d)(z_c . z_d), the squared norm of sum_c
// a_c z_c^T without forming it; the bias adds |z_0|^2, a scale g the squared norm of its own derivative.
class Diagonal final : public pde::PinnObjective::SignalVisitor {
 public:
  Diagonal(const pde::PinnObjective& objective, std::span<const double> x, std::span<double> k)
      : tape_(objective.tape()), x_(x), k_(k), threads_(objective.visitors()) {
    for (const auto& operation : tape_.operations())
      if (operation.dense && !operation.dense->weight.frozen) {
        layers_.resize(std::max<std::size_t>(layers_.size(), operation.dense->weight.block + 1));
        layers_[operation.dense->weight.block] = &*operation.dense;
      }
  }

  void begin_tile(int thread, std::size_t first_point, std::size_t points) override {
    threads_[thread] = {first_point, points, {}};
  }

  void layer(int thread, const pde::PinnObjective::LayerSignals& s) override {
    const net::Dense& layer = *layers_[s.block];
    auto& [first, points, g_bar] = threads_[thread];
    const std::size_t in = layer.in.width, out = layer.out.width;
    const double* g = layer.scale ? x_.data() + tape_.block(layer.scale).offset : nullptr;
    for (std::size_t p = 0; p < points; ++p) {
      const auto a = [&, points = points](int c) { return s.in + (c * points + p) * s.in_stride; };
      const auto z = [&, points = points](int c) { return s.out_bar + (c * points + p) * s.out_stride; };
      double sum = 0;
      for (int c = 0; c < s.components; ++c)
        for (int d = 0; d <= c; ++d)
          sum += (c == d ? 1 : 2) * dot(a(c), a(d), in) * scaled_dot(z(c), z(d), g, out);
      if (layer.bias)
        for (int c = 0; c < s.values; ++c)
          for (int d = 0; d < s.values; ++d) sum += dot(z(c), z(d), out);
      if (g) {
        g_bar.assign(out, 0.0);
        const double* v = x_.data() + tape_.block(layer.weight).offset;
        for (int c = 0; c < s.components; ++c)
          for (std::size_t i = 0; i < in; ++i)
            for (std::size_t j = 0; j < out; ++j) g_bar[j] += z(c)[j] * a(c)[i] * v[i * out + j];
        sum += dot(g_bar.data(), g_bar.data(), out);
      }
      k_[first + p] += sum;
    }
  }

  void scalar(int thread, std::size_t, std::span<const double> per_point) override {
    for (std::size_t p = 0; p < per_point.size(); ++p)
      k_[threads_[thread].first + p] += per_point[p] * per_point[p];
  }
  void end_tile(int) override {}

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

  struct Thread {
    std::size_t first = 0, points = 0;
    std::vector<double> g_bar;
  };
  const net::Tape& tape_;
  std::span<const double> x_;
  std::span<double> k_;
  std::vector<const net::Dense*> layers_;  // by block of the weight
  std::vector<Thread> threads_;
};

}  // namespace

std::vector<double> ntk_diagonal(pde::PinnObjective& objective, std::span<const double> x, int term) {
  std::vector<double> k(objective.residuals_of(objective.problem().terms.at(term).point_set));
  objective.visit_points(x, term, k, [&] { return std::make_unique<Diagonal>(objective, x, k); });
  return k;
}

double ntk_trace(pde::PinnObjective& objective, std::span<const double> x, int term) {
  const auto k = ntk_diagonal(objective, x, term);
  return std::accumulate(k.begin(), k.end(), 0.0);
}

}  // namespace lather::train
