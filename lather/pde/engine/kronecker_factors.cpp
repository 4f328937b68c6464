// Kronecker factors of J^T J per dense layer, from the layers' inputs and back-propagated signals of every
// derivative component:
//
//   a_cp   input of component c at point p, with a 1 appended for the bias if c is the value, a 0 otherwise
//   z_cp   d r_p / d (output of component c), r_p the weighted residual
//
//   expand   A = mean_cp a_cp a_cp^T                          B = sum_cp z_cp z_cp^T
//   reduce   A = mean_p (mean_c a_cp)(mean_c a_cp)^T          B = sum_p (sum_c z_cp)(sum_c z_cp)^T
//
// All terms of a group count alike in the means. With factorized weights V diag(g), V has the signals z_cp g;
// bias and g then share no signal with it and are given by the diagonal of J^T J, like scalars.

#include "lather/linalg/gemm.hpp"
#include "lather/pde/engine/residual_weights.hpp"

namespace lather::pde {

namespace {

using Sharing = optim::KroneckerFactors::Sharing;
constexpr int kGroups = 2;  // equations; conditions and data

class FactorSums final : public PinnObjective::SignalVisitor {
 public:
  FactorSums(Engine& engine, std::span<const double> x, Sharing sharing)
      : layers_(layers_by_weight_block(engine)), x_(x), sharing_(sharing), threads_(engine.shards()) {
    for (auto& thread : threads_) {
      thread.diagonal.resize(engine.layout.size());
      for (auto& group : thread.groups) {
        group.resize(layers_.size());
        for (std::size_t block = 0; block < layers_.size(); ++block) {
          if (!layers_[block].weight) continue;
          const std::size_t inputs = this->inputs(block), outputs = layers_[block].weight->cols;
          group[block].A = Buffer<double>(inputs * linalg::padded_width<double>(inputs));
          group[block].B = Buffer<double>(outputs * linalg::padded_width<double>(outputs));
        }
      }
    }
  }

  int group = 0;  // that the signals visited next belong to

  void begin_tile(int thread, std::size_t, std::size_t points) override { threads_[thread].points = points; }

  void layer(int thread, const PinnObjective::LayerSignals& s) override {
    Thread& t = threads_[thread];
    const std::size_t inputs = this->inputs(s.block), outputs = layers_[s.block].weight->cols;
    const std::size_t a_stride = linalg::padded_width<double>(inputs),
                      z_stride = linalg::padded_width<double>(outputs);
    const std::size_t rows = load_rows(t, s, a_stride, z_stride);
    Sums& sums = t.groups[group][s.block];
    linalg::add_outer(rows, t.a.data(), a_stride, inputs, t.a.data(), a_stride, inputs, sums.A.data(),
                      a_stride);
    linalg::add_outer(rows, t.z.data(), z_stride, outputs, t.z.data(), z_stride, outputs, sums.B.data(),
                      z_stride);
    sums.rows += static_cast<double>(rows);
    if (layers_[s.block].scale) add_diagonal(t, s);
  }

  void scalar(int thread, std::size_t parameter, std::span<const double> per_point) override {
    for (const double value : per_point) threads_[thread].diagonal[parameter] += value * value;
  }
  void end_tile(int) override {}

  // Sends the sums of all ranks to all, shard by shard: they are added in shard order.
  void gather(parallel::Communicator& ranks) {
    std::vector<std::vector<double>> flat;
    for (auto& thread : threads_) {
      auto& numbers = flat.emplace_back();
      over_numbers(thread, [&](double* values, std::size_t count) {
        numbers.insert(numbers.end(), values, values + count);
      });
    }
    std::vector<double> all;
    for (const auto& numbers : flat) all.insert(all.end(), numbers.begin(), numbers.end());
    std::vector<std::size_t> bounds;
    for (int p = 0; p <= ranks.size(); ++p)
      bounds.push_back(threads_.size() * p / ranks.size() * flat[0].size());
    ranks.gather(std::span(all), bounds);
    const double* from = all.data();
    for (auto& thread : threads_)
      over_numbers(thread, [&](double* values, std::size_t count) {
        std::copy_n(from, count, values);
        from += count;
      });
  }

  optim::KroneckerFactors factors(const optim::ParameterLayout& layout) const {
    optim::KroneckerFactors result;
    result.diagonal.resize(layout.size());
    for (const auto& thread : threads_)
      for (std::size_t i = 0; i < layout.size(); ++i) result.diagonal[i] += thread.diagonal[i];
    for (std::size_t block = 0; block < layers_.size(); ++block) {
      const LayerBlocks& l = layers_[block];
      if (!l.weight) continue;
      auto& layer = result.layers.emplace_back();
      layer.weight = block;
      if (has_bias(block)) layer.bias = l.bias - layout.blocks().data();
      for (int g = 0; g < kGroups; ++g) {
        double rows = 0;
        for (const auto& thread : threads_) rows += thread.groups[g][block].rows;
        if (rows == 0) continue;
        layer.groups.push_back({collect(g, block, &Sums::A, inputs(block), 1 / rows),
                                collect(g, block, &Sums::B, l.weight->cols, 1)});
      }
    }
    return result;
  }

 private:
  struct Sums {
    Buffer<double> A, B;
    double rows = 0;
  };
  struct Thread {
    std::vector<Sums> groups[kGroups];  // by block
    std::vector<double> diagonal;
    std::size_t points = 0;
    Buffer<double> a, z;  // rows of one tile, bias appended
  };

  template <class F>
  static void over_numbers(Thread& thread, const F& f) {
    f(thread.diagonal.data(), thread.diagonal.size());
    for (auto& group : thread.groups)
      for (Sums& sums : group) {
        f(sums.A.data(), sums.A.size());
        f(sums.B.data(), sums.B.size());
        f(&sums.rows, 1);
      }
  }

  bool has_bias(std::size_t block) const { return layers_[block].bias && !layers_[block].scale; }
  std::size_t inputs(std::size_t block) const { return layers_[block].weight->rows + has_bias(block); }

  // Rows a and z of one tile, padded; returns their number.
  std::size_t load_rows(Thread& t, const PinnObjective::LayerSignals& s, std::size_t a_stride,
                        std::size_t z_stride) const {
    const LayerBlocks& l = layers_[s.block];
    const std::size_t components = s.components, m = l.weight->rows, n = l.weight->cols;
    const bool expand = sharing_ == Sharing::expand;
    const std::size_t rows = expand ? components * t.points : t.points;
    if (t.a.size() < rows * a_stride) t.a = Buffer<double>(rows * a_stride);
    if (t.z.size() < rows * z_stride) t.z = Buffer<double>(rows * z_stride);
    std::fill_n(t.a.data(), rows * a_stride, 0.0);
    std::fill_n(t.z.data(), rows * z_stride, 0.0);
    const double share = expand ? 1 : 1 / static_cast<double>(components);
    const double* g = l.scale ? x_.data() + l.scale->offset : nullptr;
    for (std::size_t from = 0; from < components * t.points; ++from) {
      const std::size_t to = expand ? from : from % t.points;
      double *a = t.a.data() + to * a_stride, *z = t.z.data() + to * z_stride;
      for (std::size_t i = 0; i < m; ++i) a[i] += share * s.in[from * s.in_stride + i];
      for (std::size_t j = 0; j < n; ++j) z[j] += s.out_bar[from * s.out_stride + j] * (g ? g[j] : 1);
      if (has_bias(s.block) && from < s.values * t.points) a[m] += share;
    }
    return rows;
  }

  // Bias and scale of a factorized layer.
  void add_diagonal(Thread& t, const PinnObjective::LayerSignals& s) const {
    const LayerBlocks& l = layers_[s.block];
    const std::size_t m = l.weight->rows, n = l.weight->cols;
    const double* V = x_.data() + l.weight->offset;
    for (std::size_t p = 0; p < t.points; ++p)
      for (std::size_t j = 0; j < n; ++j) {
        if (l.bias) {
          double by_bias = 0;
          for (int c = 0; c < s.values; ++c) by_bias += s.out_bar[(c * t.points + p) * s.out_stride + j];
          t.diagonal[l.bias->offset + j] += by_bias * by_bias;
        }
        double by_scale = 0;  // sum_c (a_c V)_j z_cj
        for (int c = 0; c < s.components; ++c) {
          const std::size_t row = c * t.points + p;
          double product = 0;
          for (std::size_t i = 0; i < m; ++i) product += s.in[row * s.in_stride + i] * V[i * n + j];
          by_scale += product * s.out_bar[row * s.out_stride + j];
        }
        t.diagonal[l.scale->offset + j] += by_scale * by_scale;
      }
  }

  std::vector<double> collect(int group, std::size_t block, Buffer<double> Sums::*which,
                              std::size_t dimension, double factor) const {
    const std::size_t stride = linalg::padded_width<double>(dimension);
    std::vector<double> result(dimension * dimension);
    for (const auto& thread : threads_)
      for (std::size_t i = 0; i < dimension; ++i)
        for (std::size_t j = 0; j < dimension; ++j)
          result[i * dimension + j] += factor * (thread.groups[group][block].*which)[i * stride + j];
    return result;
  }

  std::vector<LayerBlocks> layers_;
  std::span<const double> x_;
  Sharing sharing_;
  std::vector<Thread> threads_;
};

}  // namespace

optim::KroneckerFactors PinnObjective::kronecker_factors(std::span<const double> x, Sharing sharing) {
  fitting(x);
  optim::KroneckerFactors factors;
  engine_->with_ranks([&] {
    FactorSums sums(*engine_, x, sharing);
    for (std::size_t k = 0; k < engine_->problem.terms.size(); ++k) {
      const int set = engine_->problem.terms[k].point_set;
      sums.group = engine_->problem.point_sets[set].kind == PointSet::Kind::interior ? 0 : 1;
      const auto seeds = root_weights(*engine_, static_cast<int>(k));
      engine_->visit_signals(x, static_cast<int>(k), 0, seeds.size(), seeds, sums, Reach::own_share);
    }
    if (!engine_->alone()) sums.gather(*engine_->options.ranks);
    factors = sums.factors(engine_->layout);
  });
  return factors;
}

}  // namespace lather::pde
