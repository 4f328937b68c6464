// The Jacobian of the weighted residuals, r_i = sqrt(weight * point weight / points) * residual_i, and
// products with it, all from the layers' inputs and back-propagated signals:
//
//   row p of J for a layer   sum_c a_cp z_cp^T                        c: derivative components,
//                                                                     a: inputs, z: signals
//   (J v)_p                  sum_c (a_cp V) . z_cp                    V: the layer's part of v, as a matrix
//   (J J^T)_pq               sum_cd (a_cp . a_dq) (z_cp . z_dq)       without forming J

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "lather/core/interrupt.hpp"
#include "lather/linalg/gemm.hpp"
#include "lather/pde/engine/host_jacobian.hpp"
#include "lather/pde/engine/row_writer.hpp"

namespace lather::pde {

namespace {

// Writes rows of J, from a term's row `first` on, to a row-major matrix.
struct PlainRows {
  double* rows;
  std::size_t first, columns;
  void write(std::size_t point, std::size_t column, const double* values, std::size_t count) {
    std::copy_n(values, count, rows + (point - first) * columns + column);
  }
  void residual(std::size_t, double) {}
};

// (J v)_p without J.
class ProductWriter final : public PinnObjective::SignalVisitor {
 public:
  ProductWriter(Engine& engine, std::span<const double> x, std::span<const double> v, std::span<double> out)
      : layers_(layers_by_weight_block(engine)),
        v_(v),
        out_(out),
        packed_(layers_.size()),
        threads_(engine.shards()) {
    for (std::size_t b = 0; b < layers_.size(); ++b) {
      const LayerBlocks& l = layers_[b];
      if (!l.weight) continue;
      const std::size_t m = l.weight->rows, n = l.weight->cols;
      std::vector<double> direction(v.begin() + l.weight->offset, v.begin() + l.weight->offset + m * n);
      if (l.scale)  // d(V diag g) = dV diag g + V diag dg
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < n; ++j)
            direction[i * n + j] = direction[i * n + j] * x[l.scale->offset + j] +
                                   x[l.weight->offset + i * n + j] * v[l.scale->offset + j];
      packed_[b].pack(direction.data(), m, n, false);
    }
  }

  void begin_tile(int thread, std::size_t first_point, std::size_t points) override {
    threads_[thread].first = first_point;
    threads_[thread].points = points;
    std::fill_n(out_.data() + first_point, points, 0.0);
  }
  void layer(int thread, const PinnObjective::LayerSignals& s) override {
    const LayerBlocks& l = layers_[s.block];
    auto& t = threads_[thread];
    const std::size_t n = l.weight->cols, stride = linalg::padded_width<double>(n),
                      rows = s.components * t.points;
    if (t.product.size() < rows * stride) t.product = Buffer<double>(rows * stride);
    linalg::multiply(rows, s.in, s.in_stride, packed_[s.block], t.product.data(), stride,
                     l.bias ? v_.data() + l.bias->offset : nullptr, s.values * t.points, false);
    for (std::size_t row = 0; row < rows; ++row)
      out_[t.first + row % t.points] +=
          std::inner_product(t.product.data() + row * stride, t.product.data() + row * stride + n,
                             s.out_bar + row * s.out_stride, 0.0);
  }
  void scalar(int thread, std::size_t parameter, std::span<const double> per_point) override {
    for (std::size_t p = 0; p < per_point.size(); ++p)
      out_[threads_[thread].first + p] += v_[parameter] * per_point[p];
  }
  void end_tile(int) override {}

 private:
  struct Thread {
    std::size_t first = 0, points = 0;
    Buffer<double> product;
  };
  std::vector<LayerBlocks> layers_;
  std::span<const double> v_;
  std::span<double> out_;
  std::vector<linalg::PackedMatrix<double>> packed_;
  std::vector<Thread> threads_;
};

// Keeps the signals of all points, layer by layer, for J J^T.
class SignalStore final : public PinnObjective::SignalVisitor {
 public:
  struct Layer {
    std::size_t in = 0, out = 0, in_stride = 0, out_stride = 0;
    int components = 0, values = 1;
    bool bias = false, used = false;
    Buffer<double> a, z;  // point-major: row p * components + c
  };
  SignalStore(Engine& engine, std::size_t points)
      : layers(engine.layout.blocks().size()),
        scalars(engine.layout.size()),
        blocks_(layers_by_weight_block(engine)),
        threads_(engine.shards()),
        points_(points) {}

  void prepare(std::size_t block, int components, int values) {
    std::lock_guard lock(mutex_);
    Layer& l = layers[block];
    if (l.used) return;
    const LayerBlocks& b = blocks_[block];
    l.in = b.weight->rows;
    l.out = b.weight->cols;
    l.in_stride = linalg::padded_width<double>(l.in);
    l.out_stride = linalg::padded_width<double>(l.out);
    l.components = components;
    l.values = values;
    l.bias = b.bias != nullptr;
    l.a = Buffer<double>(points_ * components * l.in_stride);
    l.z = Buffer<double>(points_ * components * l.out_stride);
    l.used = true;
  }
  void begin_tile(int thread, std::size_t first, std::size_t points) override {
    threads_[thread] = {first, points};
  }
  void layer(int thread, const PinnObjective::LayerSignals& s) override {
    prepare(s.block, s.components, s.values);
    Layer& l = layers[s.block];
    const auto [first, points] = threads_[thread];
    for (std::size_t p = 0; p < points; ++p)
      for (int c = 0; c < s.components; ++c) {
        const std::size_t row = (first + p) * s.components + c;
        std::copy_n(s.in + (c * points + p) * s.in_stride, l.in, l.a.data() + row * l.in_stride);
        std::copy_n(s.out_bar + (c * points + p) * s.out_stride, l.out, l.z.data() + row * l.out_stride);
      }
  }
  void scalar(int thread, std::size_t parameter, std::span<const double> per_point) override {
    {
      std::lock_guard lock(mutex_);
      if (scalars[parameter].empty()) scalars[parameter].assign(points_, 0.0);
    }
    std::copy(per_point.begin(), per_point.end(), scalars[parameter].begin() + threads_[thread].first);
  }
  void end_tile(int) override {}

  std::vector<Layer> layers;                 // by block
  std::vector<std::vector<double>> scalars;  // by parameter: per point, empty if it has no influence

 private:
  struct Range {
    std::size_t first, points;
  };
  std::vector<LayerBlocks> blocks_;
  std::vector<Range> threads_;
  std::size_t points_;
  std::mutex mutex_;
};

// Adds the products of one layer's signals to the block K (rows p of `left` × rows q of `right`).
void add_layer_gram(const SignalStore::Layer& left, std::size_t p0, std::size_t ps,
                    const SignalStore::Layer& right, std::size_t q0, std::size_t qs, double* K,
                    std::size_t stride, std::vector<Buffer<double>>& scratch) {
  const std::size_t rows = ps * left.components, cols = qs * right.components,
                    ld = linalg::padded_width<double>(cols);
  while (scratch.size() < 2) scratch.emplace_back();
  for (auto& buffer : scratch)
    if (buffer.size() < rows * ld) buffer = Buffer<double>(rows * ld);
  linalg::PackedMatrix<double> packed;
  std::vector<double> compact;
  const auto gram = [&](const double* a, std::size_t a_stride, const double* b, std::size_t b_stride,
                        std::size_t width, double* out) {
    compact.resize(cols * width);
    for (std::size_t r = 0; r < cols; ++r) std::copy_n(b + r * b_stride, width, compact.data() + r * width);
    packed.pack(compact.data(), cols, width, true);
    linalg::multiply(rows, a, a_stride, packed, out, ld, static_cast<const double*>(nullptr), 0, false);
  };
  gram(left.a.data() + p0 * left.components * left.in_stride, left.in_stride,
       right.a.data() + q0 * right.components * right.in_stride, right.in_stride, left.in, scratch[0].data());
  gram(left.z.data() + p0 * left.components * left.out_stride, left.out_stride,
       right.z.data() + q0 * right.components * right.out_stride, right.out_stride, left.out,
       scratch[1].data());
  for (std::size_t p = 0; p < ps; ++p)
    for (std::size_t q = 0; q < qs; ++q) {
      double sum = 0;
      for (int c = 0; c < left.components; ++c) {
        const std::size_t at = (p * left.components + c) * ld + q * right.components;
        for (int d = 0; d < right.components; ++d) sum += scratch[0][at + d] * scratch[1][at + d];
      }
      // The bias is one more input that is 1 in the values and 0 in the derivatives.
      if (left.bias)
        for (int c = 0; c < left.values; ++c)
          for (int d = 0; d < right.values; ++d)
            sum += scratch[1][(p * left.components + c) * ld + q * right.components + d];
      K[p * stride + q] += sum;
    }
}

}  // namespace

void HostJacobian::jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count,
                                 double* rows) {
  engine_.with_ranks([&] {
    std::fill_n(rows, count * size(), 0.0);
    std::size_t offset = 0;
    for (std::size_t k = 0; k < engine_.problem.terms.size(); ++k) {
      const int set = engine_.problem.terms[k].point_set;
      const std::size_t points = engine_.residuals_of(set);
      const std::size_t begin = std::max(first, offset), end = std::min(first + count, offset + points);
      if (begin < end) {
        const auto seeds = root_weights(engine_, static_cast<int>(k));
        double* here = rows + (begin - first) * size();
        PlainRows target{here, begin - offset, size()};
        RowWriter writer(engine_, x, target);
        engine_.visit_signals(x, static_cast<int>(k), begin - offset, end - begin,
                              std::span(seeds).subspan(begin - offset, end - begin), writer,
                              Reach::own_share);
        engine_.gather_visited(set, end - begin, size(), here);
      }
      offset += points;
    }
  });
}

double HostJacobian::available_bytes() const {
  double bytes = EngineResiduals::available_bytes();
  engine_.with_ranks([&] {
    if (engine_.alone()) return;
    parallel::Communicator& ranks = *engine_.options.ranks;
    const auto all = ranks.all_of(bytes / ranks.local_size());
    bytes = *std::min_element(all.begin(), all.end());
  });
  return bytes;
}

void HostJacobian::residual_gram(std::span<const double> x, double* JJt, std::span<double> r) {
  // Factorized weights couple V and g within a layer; using J itself is then simplest.
  if (engine_.problem.network.weight_factorization) return EngineResiduals::residual_gram(x, JJt, r);
  residuals(x, r);
  engine_.with_ranks([&] { fill_gram(x, JJt); });
}

// Every rank has the signals of all points, which cost little compared with their products; pairs of row
// blocks are dealt out.
void HostJacobian::fill_gram(std::span<const double> x, double* JJt) {
  const std::size_t m = residual_count();
  // Signals of every term, then all pairs of row blocks.
  std::vector<std::unique_ptr<SignalStore>> stores;
  struct Rows {
    std::size_t term, first, count, row;  // points [first, first + count) of the term; `row` in J J^T
  };
  std::vector<Rows> row_blocks;
  std::size_t offset = 0;
  for (std::size_t k = 0; k < engine_.problem.terms.size(); ++k) {
    const std::size_t points = engine_.residuals_of(engine_.problem.terms[k].point_set);
    const auto seeds = root_weights(engine_, static_cast<int>(k));
    stores.push_back(std::make_unique<SignalStore>(engine_, points));
    engine_.visit_signals(x, static_cast<int>(k), 0, points, seeds, *stores.back(), Reach::all_points);
    constexpr std::size_t kStepsPerLaunch = 64;
    for (std::size_t begin = 0; begin < points; begin += kStepsPerLaunch)
      row_blocks.push_back({k, begin, std::min(kStepsPerLaunch, points - begin), offset + begin});
    offset += points;
  }
  auto& team = engine_.team();
  const std::size_t pairs = row_blocks.size() * (row_blocks.size() + 1) / 2;
  const auto of_rank = [&](int rank) {
    return engine_.alone() ? IndexRange{0, pairs} : share_of(pairs, rank, engine_.options.ranks->size());
  };
  const IndexRange own = of_rank(engine_.alone() ? 0 : engine_.options.ranks->rank());
  team.run([&](int t) {
    std::vector<Buffer<double>> scratch;
    std::vector<double> K;
    std::size_t pair = 0;
    for (std::size_t a = 0; a < row_blocks.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b, ++pair) {
        if (pair < own.begin || pair >= own.end || pair % team.size() != static_cast<std::size_t>(t))
          continue;
        poll_stop();
        const Rows &p = row_blocks[a], &q = row_blocks[b];
        const SignalStore &left = *stores[p.term], &right = *stores[q.term];
        K.assign(p.count * q.count, 0.0);
        for (std::size_t layer = 0; layer < left.layers.size(); ++layer)
          if (left.layers[layer].used && right.layers[layer].used)
            add_layer_gram(left.layers[layer], p.first, p.count, right.layers[layer], q.first, q.count,
                           K.data(), q.count, scratch);
        for (std::size_t s = 0; s < left.scalars.size(); ++s) {
          if (left.scalars[s].empty() || right.scalars[s].empty()) continue;
          for (std::size_t i = 0; i < p.count; ++i)
            for (std::size_t j = 0; j < q.count; ++j)
              K[i * q.count + j] += left.scalars[s][p.first + i] * right.scalars[s][q.first + j];
        }
        for (std::size_t i = 0; i < p.count; ++i)
          std::copy_n(K.data() + i * q.count, q.count, JJt + (p.row + i) * m + q.row);
      }
  });
  if (engine_.alone()) return;
  const auto over_rows = [&](IndexRange range, const auto& f) {  // f(elements of J J^T, count)
    std::size_t pair = 0;
    for (std::size_t a = 0; a < row_blocks.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b, ++pair)
        for (std::size_t i = 0; pair >= range.begin && pair < range.end && i < row_blocks[a].count; ++i)
          f(JJt + (row_blocks[a].row + i) * m + row_blocks[b].row, row_blocks[b].count);
  };
  gather_ranges(
      of_rank,
      [&](IndexRange range) {
        std::size_t size = 0;
        over_rows(range, [&](const double*, std::size_t count) { size += count; });
        return size;
      },
      [&](IndexRange range, double* to) {
        over_rows(range,
                  [&](const double* values, std::size_t count) { to = std::copy_n(values, count, to); });
      },
      [&](IndexRange range, const double* from) {
        over_rows(range, [&](double* values, std::size_t count) {
          std::copy_n(from, count, values);
          from += count;
        });
      });
}

void HostJacobian::jacobian_times(std::span<const double> x, std::span<const double> v,
                                  std::span<double> Jv) {
  engine_.with_ranks([&] {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < engine_.problem.terms.size(); ++k) {
      const int set = engine_.problem.terms[k].point_set;
      const std::size_t points = engine_.residuals_of(set);
      const auto seeds = root_weights(engine_, static_cast<int>(k));
      ProductWriter writer(engine_, x, v, Jv.subspan(offset, points));
      engine_.visit_signals(x, static_cast<int>(k), 0, points, seeds, writer, Reach::own_share);
      engine_.gather_visited(set, points, 1, Jv.data() + offset);
      offset += points;
    }
  });
}

void HostJacobian::transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                             std::span<double> Jtw) {
  std::vector<std::vector<double>> seeds;
  std::size_t offset = 0;
  for (std::size_t k = 0; k < engine_.problem.terms.size(); ++k) {
    auto& s = seeds.emplace_back(root_weights(engine_, static_cast<int>(k)));
    for (std::size_t i = 0; i < s.size(); ++i) s[i] *= w[offset + i];
    offset += s.size();
  }
  transposed_times_(x, seeds, Jtw.data());
}

}  // namespace lather::pde
