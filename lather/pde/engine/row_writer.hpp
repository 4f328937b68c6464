#pragma once
// Rows of the Jacobian from layer signals, point by point. Where they go is the target's business:
//   target.write(point, first parameter, values, count)     calls for different points may run
//                                                           at the same time
// What a term does not depend on is not written.

#include <algorithm>

#include "lather/pde/engine/residual_weights.hpp"

namespace lather::pde {

template <class Target>
class RowWriter final : public PinnObjective::SignalVisitor {
 public:
  RowWriter(Engine& engine, std::span<const double> x, Target& target)
      : layers_(layers_by_weight_block(engine)), x_(x), target_(target), threads_(engine.shards()) {}

  void begin_tile(int thread, std::size_t first_point, std::size_t points) override {
    threads_[thread].first = first_point;
    threads_[thread].points = points;
  }
  void residuals(int thread, std::span<const double> bare) override {
    for (std::size_t p = 0; p < bare.size(); ++p) target_.residual(threads_[thread].first + p, bare[p]);
  }

  void layer(int thread, const PinnObjective::LayerSignals& s) override {
    const LayerBlocks& l = layers_[s.block];
    const std::size_t m = l.weight->rows, n = l.weight->cols;
    Thread& t = threads_[thread];
    t.weight.resize(m * n);
    for (std::size_t p = 0; p < t.points; ++p) {
      add_products(s, p, t.points, m, n, t.weight.data());
      if (l.bias) {
        t.bias.assign(n, 0.0);
        for (int c = 0; c < s.values; ++c)
          for (std::size_t j = 0; j < n; ++j) t.bias[j] += s.out_bar[(c * t.points + p) * s.out_stride + j];
        target_.write(t.first + p, l.bias->offset, t.bias.data(), n);
      }
      if (l.scale) {
        split_scale(l, t);
        target_.write(t.first + p, l.scale->offset, t.scale.data(), n);
      }
      target_.write(t.first + p, l.weight->offset, t.weight.data(), m * n);
    }
  }

  void scalar(int thread, std::size_t parameter, std::span<const double> per_point) override {
    for (std::size_t p = 0; p < per_point.size(); ++p)
      target_.write(threads_[thread].first + p, parameter, &per_point[p], 1);
  }
  void end_tile(int) override {}

 private:
  struct Thread {
    std::size_t first = 0, points = 0;
    std::vector<double> weight, bias, scale;  // one point's derivatives with respect to a layer's
  };

  // w = sum_c a_c z_c^T
  static void add_products(const PinnObjective::LayerSignals& s, std::size_t p, std::size_t points,
                           std::size_t m, std::size_t n, double* w) {
    for (int c = 0; c < s.components; ++c) {
      const double* a = s.in + (c * points + p) * s.in_stride;
      const double* z = s.out_bar + (c * points + p) * s.out_stride;
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) w[i * n + j] = (c > 0 ? w[i * n + j] : 0) + a[i] * z[j];
    }
  }

  // With W = V diag(g): dW gives dV = dW diag(g) and dg_j = sum_i V_ij dW_ij.
  void split_scale(const LayerBlocks& l, Thread& t) {
    const std::size_t m = l.weight->rows, n = l.weight->cols;
    const double *v = x_.data() + l.weight->offset, *g = x_.data() + l.scale->offset;
    t.scale.assign(n, 0.0);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        t.scale[j] += t.weight[i * n + j] * v[i * n + j];
        t.weight[i * n + j] *= g[j];
      }
  }

  std::vector<LayerBlocks> layers_;
  std::span<const double> x_;
  Target& target_;
  std::vector<Thread> threads_;
};

}  // namespace lather::pde
