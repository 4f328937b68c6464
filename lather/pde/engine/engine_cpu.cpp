// The engine on the CPU: tiles of points over a team of threads.
//
// Every thread owns its workers (one per point set), its gradient and its loss sums; tiles are dealt out
// once, by cost, in contiguous runs; sums of threads are added in order. So results depend on the thread
// count only by rounding, and not at all on timing.

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"
#include "lather/core/threads.hpp"
#include "lather/pde/engine/engine.hpp"
#include "lather/pde/engine/host_jacobian.hpp"
#include "lather/pde/engine/point_set_evaluator.hpp"

namespace lather::pde {

namespace {

struct Tile {
  int set;
  std::size_t begin, count;
};

// Rows (points × components) of a tile such that all layers' jets and weights stay in the second-level cache.
constexpr std::size_t kTileRows =
    96;  // Measured: 96 to 144 rows are best at widths 64, 128 and 256 (bench_engine).

template <class T>
class CpuEngine final : public Engine {
 public:
  CpuEngine(const Problem& given, const EngineOptions& engine_options)
      : Engine(given, engine_options),
        team_(options.threads > 0 ? options.threads : available_cores()),
        weights_(tape),
        tiles_of_(sets.size()),
        bounds_(team_.size() + 1) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const std::size_t points = tile_points_for(sets[s]), group = group_of(static_cast<int>(s));
      tile_points_.push_back(group == 1 ? points : std::max<std::size_t>(1, points / group) * group);
    }
    for (int t = 0; t < team_.size(); ++t) {
      auto& thread = threads_.emplace_back(tape);
      for (std::size_t s = 0; s < sets.size(); ++s)
        thread.workers.emplace_back(sets[s], tape, tile_points_[s], group_of(static_cast<int>(s)));
      thread.sums.resize(problem.terms.size());
      thread.unknown_bars.resize(std::max<std::size_t>(1, problem.unknowns.size()));
    }
  }

  ThreadTeam& team() override { return team_; }
  std::size_t tile_points(int set) const override { return tile_points_[set]; }

  std::size_t workspace_bytes() const override {
    std::size_t total = 0;
    for (const auto& thread : threads_) {
      for (const auto& worker : thread.workers) total += worker.bytes();
      total += layout.size() * sizeof(T);
    }
    return total;
  }

  void points_changed(int set) override {
    tiles_of_[set].clear();
    const std::size_t count = points[set].count();
    for (std::size_t begin = 0; begin < count; begin += tile_points_[set])
      tiles_of_[set].push_back({set, begin, std::min(tile_points_[set], count - begin)});
    all_tiles_.clear();
    for (const auto& tiles : tiles_of_) all_tiles_.insert(all_tiles_.end(), tiles.begin(), tiles.end());
    // Contiguous shares of about equal cost.
    double total = 0;
    for (const auto& tile : all_tiles_) total += cost(tile);
    bounds_.assign(team_.size() + 1, all_tiles_.size());
    bounds_[0] = 0;
    double sum = 0;
    int next = 1;
    for (std::size_t i = 0; i < all_tiles_.size() && next < team_.size(); ++i) {
      sum += cost(all_tiles_[i]);
      if (sum >= total * next / team_.size()) bounds_[next++] = i + 1;
    }
  }

  void compute(std::span<const double> x, double* gradient,
               std::vector<std::vector<double>>* term_gradients) override {
    require_points();
    weights_.update(x, frozen);
    if (term_gradients) {
      compute_terms(x, *term_gradients);
      return;
    }
    team_.run([&](int t) {
      Thread& thread = threads_[t];
      thread.clear(gradient != nullptr);
      for (std::size_t i = bounds_[t]; i < bounds_[t + 1]; ++i) {
        const Tile& tile = all_tiles_[i];
        auto& worker = thread.workers[tile.set];
        worker.evaluate(points[tile.set], tile.begin, tile.count, weights_, unknowns_of(x));
        for (int k : terms_of[tile.set]) add_term(thread, worker, tile, k, gradient != nullptr);
        if (gradient) worker.backward(weights_, thread.gradients, thread.unknown_bars);
      }
    });
    sum_losses();
    if (gradient) write_gradient(x, {gradient, layout.size()});
  }

  void residuals(std::span<const double> x, std::span<double* const> r) override {
    weights_.update(x, frozen);
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const auto& terms = terms_of[s];
      if (std::none_of(terms.begin(), terms.end(), [&](int k) { return r[k] != nullptr; })) continue;
      over_set(static_cast<int>(s), [&](Thread& thread, const Tile& tile) {
        auto& worker = thread.workers[s];
        worker.evaluate(points[s], tile.begin, tile.count, weights_, unknowns_of(x));
        for (int k : terms)
          if (r[k])
            add_groups(static_cast<int>(s), worker.values(place_in_set[k]), tile.count,
                       r[k] + tile.begin / group_of(static_cast<int>(s)));
      });
    }
  }

  std::vector<std::vector<double>> evaluate(std::span<const double> x,
                                            std::span<const symbolic::Expr> expressions, const Points& at,
                                            std::span<const std::string> columns) override {
    weights_.update(x, frozen);
    const CompiledPointSet& set = evaluation_set(expressions, columns);
    const std::size_t tile = tile_points_for(set), count = at.count();
    std::vector<std::vector<double>> values(expressions.size(), std::vector<double>(count));
    team_.run([&](int t) {
      PointSetEvaluator<T> worker(set, tape, tile);
      const auto [first, last] = share_of((count + tile - 1) / tile, t, team_.size());
      for (std::size_t i = first; i < last; ++i) {
        const std::size_t begin = i * tile, size = std::min(tile, count - begin);
        worker.evaluate(at, begin, size, weights_, unknowns_of(x));
        for (std::size_t e = 0; e < expressions.size(); ++e)
          std::copy_n(worker.values(static_cast<int>(e)), size, values[e].data() + begin);
      }
    });
    return values;
  }

  optim::Residuals& jacobian() override { return jacobian_; }
  // d (sum_i seed_i residual_i) / d x
  void transposed_times(std::span<const double> x, const std::vector<std::vector<double>>& seeds,
                        double* gradient) {
    require_points();
    weights_.update(x, frozen);
    team_.run([&](int t) {
      Thread& thread = threads_[t];
      thread.clear(true);
      for (std::size_t i = bounds_[t]; i < bounds_[t + 1]; ++i) {
        const Tile& tile = all_tiles_[i];
        auto& worker = thread.workers[tile.set];
        worker.evaluate(points[tile.set], tile.begin, tile.count, weights_, unknowns_of(x));
        const std::size_t group = group_of(tile.set);
        for (int k : terms_of[tile.set])
          for (std::size_t j = 0; j < group; ++j)
            std::copy_n(seeds[k].data() + tile.begin / group, tile.count / group,
                        worker.bars(place_in_set[k]) + j * (tile.count / group));
        worker.backward(weights_, thread.gradients, thread.unknown_bars);
      }
    });
    write_gradient(x, {gradient, layout.size()});
  }

  void visit_signals(std::span<const double> x, int term, std::size_t first, std::size_t count,
                     std::span<const double> seeds, PinnObjective::SignalVisitor& visitor) override {
    if constexpr (!std::is_same_v<T, double>) {
      throw Error("per-point derivatives are not available in float32; use float64");
    } else {
      weights_.update(x, frozen);
      const int set = problem.terms[term].point_set;
      // Groups of points are points with so many more components.
      const std::size_t group = group_of(set), tile_size = tile_points_[set] / group,
                        tiles = (count + tile_size - 1) / tile_size;
      team_.run([&](int t) {
        auto& worker = threads_[t].workers[set];
        std::vector<T> sums(tile_size);
        const auto per_group = [&](std::span<const T> values) {
          if (group == 1) return values;
          add_groups(set, values.data(), values.size(), sums.data());
          return std::span<const T>(sums.data(), values.size() / group);
        };
        const int members = static_cast<int>(group);
        const typename net::TileExecutor<T>::Visitor signals{
            [&](const net::LayerSignals<T>& s) {
              const auto block = static_cast<std::size_t>(tape.operations()[s.operation].dense->weight.block);
              visitor.layer(
                  t, {block, s.components * members, members, s.in, s.in_stride, s.out_bar, s.out_stride});
            },
            [&](int block, std::span<const T> values) {
              visitor.scalar(t, tape.parameters().blocks()[block].offset, per_group(values));
            }};
        const auto [begin, end] = share_of(tiles, t, team_.size());
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t start = i * tile_size, size = std::min(tile_size, count - start);
          worker.evaluate(points[set], (first + start) * group, size * group, weights_, unknowns_of(x));
          for (int other : terms_of[set])
            for (std::size_t j = 0; j < group; ++j) {
              T* bars = worker.bars(place_in_set[other]) + j * size;
              if (other != term)
                std::fill_n(bars, size, T(0));
              else if (seeds.empty())
                std::fill_n(bars, size, T(1));
              else
                std::copy_n(seeds.data() + start, size, bars);
            }
          visitor.begin_tile(t, first + start, size);
          visitor.residuals(t, per_group({worker.values(place_in_set[term]), size * group}));
          worker.visit_backward(weights_, signals);
          for (const Slot& slot : sets[set].adjoint_outputs)
            if (slot.what == Slot::What::unknown_bar)
              visitor.scalar(t, tape.parameters().size() + slot.index,
                             per_group(worker.unknown_bars(slot.index)));
          visitor.end_tile(t);
        }
      });
    }
  }

 private:
  struct Thread {
    explicit Thread(const net::Tape& tape) : gradients(tape) {}
    std::vector<PointSetEvaluator<T>> workers;
    net::LayerGradients<T> gradients;
    std::vector<T> unknown_bars;
    std::vector<double> sums;  // per term: sum of point weight * residual^2
    void clear(bool with_gradient) {
      std::fill(sums.begin(), sums.end(), 0.0);
      if (!with_gradient) return;
      gradients.zero();
      std::fill(unknown_bars.begin(), unknown_bars.end(), T(0));
    }
  };

  std::size_t tile_points_for(const CompiledPointSet& set) const {
    const std::size_t rows = options.tile_rows > 0 ? options.tile_rows : kTileRows;
    return std::max<std::size_t>(1, rows / set.jets.size());
  }

  double cost(const Tile& tile) const { return static_cast<double>(tile.count) * sets[tile.set].jets.size(); }

  void require_points() const {
    for (std::size_t s = 0; s < points.size(); ++s)
      if (points[s].count() == 0 && !terms_of[s].empty())
        throw Error("point set '" + problem.point_sets[s].name + "' has no points");
  }

  // The loss of one term on one tile and, if wanted, d loss / d residual.
  void add_term(Thread& thread, PointSetEvaluator<T>& worker, const Tile& tile, int k, bool with_bars) {
    const T* r = worker.values(place_in_set[k]);
    const auto& weights = point_weights[k];
    const std::size_t group = group_of(tile.set), groups = tile.count / group;
    const double* p = weights.empty() ? nullptr : weights.data() + tile.begin / group;
    const double scale = 2 * term_weights[k] / static_cast<double>(residuals_of(tile.set));
    double sum = 0;
    if (group > 1) {
      std::vector<double> sums(groups);
      add_groups(tile.set, r, tile.count, sums.data());
      for (std::size_t q = 0; q < groups; ++q) sum += (p ? p[q] : 1.0) * sums[q] * sums[q];
      thread.sums[k] += sum;
      for (std::size_t i = 0; i < tile.count && with_bars; ++i)
        worker.bars(place_in_set[k])[i] =
            static_cast<T>(scale * (p ? p[i % groups] : 1.0) * sums[i % groups]);
      return;
    }
    for (std::size_t i = 0; i < tile.count; ++i)
      sum += (p ? p[i] : 1.0) * static_cast<double>(r[i]) * static_cast<double>(r[i]);
    thread.sums[k] += sum;
    if (!with_bars) return;
    T* bars = worker.bars(place_in_set[k]);
    for (std::size_t i = 0; i < tile.count; ++i)
      bars[i] = static_cast<T>(scale * (p ? p[i] : 1.0) * static_cast<double>(r[i]));
  }

  void sum_losses() {
    for (std::size_t k = 0; k < losses.size(); ++k) {
      double sum = 0;
      for (const auto& thread : threads_) sum += thread.sums[k];
      losses[k] = term_weights[k] * sum / static_cast<double>(residuals_of(problem.terms[k].point_set));
    }
  }

  // Values of the points of a tile, added up by groups.
  template <class From, class To>
  void add_groups(int set, const From* values, std::size_t count, To* sums) const {
    const std::size_t group = group_of(set), groups = count / group;
    for (std::size_t q = 0; q < groups; ++q) {
      double sum = 0;
      for (std::size_t j = 0; j < group; ++j) sum += static_cast<double>(values[j * groups + q]);
      sums[q] = static_cast<To>(group == 1 ? values[q] : sum);
    }
  }

  void write_gradient(std::span<const double> x, std::span<double> gradient) {
    // Neighbours first, then pairs of pairs: a fixed tree, done in parallel.
    for (int stride = 1; stride < team_.size(); stride *= 2)
      team_.run([&](int t) {
        if (t % (2 * stride) == 0 && t + stride < team_.size())
          threads_[t].gradients.add(threads_[t + stride].gradients);
      });
    threads_[0].gradients.write(x, gradient);
    for (std::size_t u = 0; u < problem.unknowns.size(); ++u) {
      double sum = 0;
      for (const auto& thread : threads_) sum += thread.unknown_bars[u];
      gradient[tape.parameters().size() + u] = sum;
    }
  }

  // One backward pass per term; the network is run forward again
  // for each, which keeps memory at one gradient per thread.
  void compute_terms(std::span<const double> x, std::vector<std::vector<double>>& gradients) {
    std::vector<double> sums(losses.size());
    for (std::size_t k = 0; k < losses.size(); ++k) {
      const int set = problem.terms[k].point_set;
      team_.run([&](int t) { threads_[t].clear(true); });
      over_set(set, [&](Thread& thread, const Tile& tile) {
        auto& worker = thread.workers[set];
        worker.evaluate(points[set], tile.begin, tile.count, weights_, unknowns_of(x));
        for (int other : terms_of[set]) {
          if (other == static_cast<int>(k))
            add_term(thread, worker, tile, other, true);
          else
            std::fill_n(worker.bars(place_in_set[other]), tile.count, T(0));
        }
        worker.backward(weights_, thread.gradients, thread.unknown_bars);
      });
      for (const auto& thread : threads_) sums[k] += thread.sums[k];
      write_gradient(x, gradients[k]);
    }
    for (std::size_t k = 0; k < losses.size(); ++k)
      losses[k] = term_weights[k] * sums[k] / static_cast<double>(residuals_of(problem.terms[k].point_set));
  }

  template <class F>
  void over_set(int set, const F& f) {
    const auto& tiles = tiles_of_[set];
    team_.run([&](int t) {
      const auto [first, last] = share_of(tiles.size(), t, team_.size());
      for (std::size_t i = first; i < last; ++i) f(threads_[t], tiles[i]);
    });
  }

  const CompiledPointSet& evaluation_set(std::span<const symbolic::Expr> expressions,
                                         std::span<const std::string> columns) {
    auto& entry = evaluation_sets_[evaluation_key(problem, expressions, columns)];
    if (!entry) entry = std::make_unique<CompiledPointSet>(compile_set(problem, tape, expressions, columns));
    return *entry;
  }

  ThreadTeam team_;
  net::LayerWeights<T> weights_;
  std::vector<Thread> threads_;
  std::vector<std::size_t> tile_points_;
  std::vector<std::vector<Tile>> tiles_of_;
  std::vector<Tile> all_tiles_;
  std::vector<std::size_t> bounds_;  // thread t takes all_tiles_[bounds_[t] … bounds_[t + 1])
  std::map<std::vector<std::uint32_t>, std::unique_ptr<CompiledPointSet>> evaluation_sets_;
  HostJacobian jacobian_{*this, [this](const auto& x, const auto& seeds, double* gradient) {
                           transposed_times(x, seeds, gradient);
                         }};
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(const Problem& problem, const EngineOptions& options) {
  if (options.precision == Precision::float32) return std::make_unique<CpuEngine<float>>(problem, options);
  return std::make_unique<CpuEngine<double>>(problem, options);
}

}  // namespace lather::pde
