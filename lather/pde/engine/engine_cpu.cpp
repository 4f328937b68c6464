// The engine on the CPU: tiles of points over a team of threads.
//
// Tiles are dealt to shards once, by cost, in contiguous runs; a shard has its own gradient and its own loss
// sums, and sums of shards are added in a fixed order. Ranks and their threads share the shards. So results
// depend on the number of shards (as many as threads, where nothing else is said) only by rounding, and on
// threads, ranks and timing not at all.

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"
#include "lather/core/threads.hpp"
#include "lather/pde/engine/engine.hpp"
#include "lather/pde/engine/host_jacobian.hpp"
#include "lather/pde/engine/point_set_evaluator.hpp"
#include "lather/pde/engine/shard_sums.hpp"

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
        sums_(tape, problem.terms.size(), problem.unknowns.size(),
              options.shards > 0 ? options.shards : team_.size(), team_.size(), options.ranks),
        tiles_of_(sets.size()),
        bounds_(sums_.size() + 1) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const std::size_t points = tile_points_for(sets[s]), group = group_of(static_cast<int>(s));
      tile_points_.push_back(group == 1 ? points : std::max<std::size_t>(1, points / group) * group);
    }
    for (int t = 0; t < team_.size(); ++t) {
      auto& workers = workers_.emplace_back();
      for (std::size_t s = 0; s < sets.size(); ++s)
        workers.emplace_back(sets[s], tape, tile_points_[s], group_of(static_cast<int>(s)));
    }
  }

  ThreadTeam& team() override { return team_; }
  int shards() override { return static_cast<int>(sums_.size()); }
  std::size_t tile_points(int set) const override { return tile_points_[set]; }

  std::size_t workspace_bytes() const override {
    std::size_t total = 0;
    for (const auto& workers : workers_)
      for (const auto& worker : workers) total += worker.bytes();
    return total + sums_.bytes();
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
    const int shards = this->shards();
    bounds_.assign(shards + 1, all_tiles_.size());
    bounds_[0] = 0;
    double sum = 0;
    int next = 1;
    for (std::size_t i = 0; i < all_tiles_.size() && next < shards; ++i) {
      sum += cost(all_tiles_[i]);
      // Where there are fewer tiles than shards, empty shards lie between the others, so that ranks have
      // equal shares.
      const int most = options.shards > 0 ? shards : next + 1;
      while (next < most && sum >= total * next / shards) bounds_[next++] = i + 1;
    }
  }

  void compute(std::span<const double> x, double* gradient,
               std::vector<std::vector<double>>* term_gradients) override {
    require_points();
    weights_.update(x, frozen);
    with_ranks([&] {
      if (term_gradients)
        compute_terms(x, *term_gradients);
      else
        compute_sum(x, gradient);
    });
  }

  void residuals(std::span<const double> x, std::span<double* const> r) override {
    weights_.update(x, frozen);
    with_ranks([&] {
      for (int s = 0; s < static_cast<int>(sets.size()); ++s) {
        const auto& terms = terms_of[s];
        if (std::none_of(terms.begin(), terms.end(), [&](int k) { return r[k] != nullptr; })) continue;
        over_shards(sums_.own(), [&](int thread, std::size_t shard) {
          Worker& worker = workers_[thread][s];
          for (const Tile& tile : tiles_of_shard(s, shard)) {
            worker.evaluate(points[s], tile.begin, tile.count, weights_, unknowns_of(x));
            for (int k : terms)
              if (r[k])
                add_groups(s, worker.values(place_in_set[k]), tile.count, r[k] + tile.begin / group_of(s));
          }
        });
        for (int k : terms)
          if (r[k]) gather_visited(s, residuals_of(s), 1, r[k]);
      }
    });
  }

  std::vector<std::vector<double>> evaluate(std::span<const double> x,
                                            std::span<const symbolic::Expr> expressions, const Points& at,
                                            std::span<const std::string> columns) override {
    weights_.update(x, frozen);
    const CompiledPointSet& set = evaluation_set(expressions, columns);
    const std::size_t tile = tile_points_for(set), count = at.count(), tiles = (count + tile - 1) / tile;
    std::vector<std::vector<double>> values(expressions.size(), std::vector<double>(count));
    with_ranks([&] {
      const int ranks = alone() ? 1 : options.ranks->size(), rank = alone() ? 0 : options.ranks->rank();
      const auto own = share_of(tiles, rank, ranks);
      team_.run([&](int t) {
        PointSetEvaluator<T> worker(set, tape, tile);
        const auto [first, last] = share_of(own.end - own.begin, t, team_.size());
        for (std::size_t i = own.begin + first; i < own.begin + last; ++i) {
          const std::size_t begin = i * tile, size = std::min(tile, count - begin);
          worker.evaluate(at, begin, size, weights_, unknowns_of(x));
          for (std::size_t e = 0; e < expressions.size(); ++e)
            std::copy_n(worker.values(static_cast<int>(e)), size, values[e].data() + begin);
        }
      });
      if (ranks == 1) return;
      std::vector<std::size_t> bounds;
      for (int p = 0; p < ranks; ++p) bounds.push_back(share_of(tiles, p, ranks).begin * tile);
      bounds.push_back(count);
      for (auto& array : values) options.ranks->gather(std::span(array), bounds);
    });
    return values;
  }

  optim::Residuals& jacobian() override { return jacobian_; }
  // d (sum_i seed_i residual_i) / d x
  void transposed_times(std::span<const double> x, const std::vector<std::vector<double>>& seeds,
                        double* gradient) {
    require_points();
    weights_.update(x, frozen);
    with_ranks([&] {
      over_tiles(true, [&](Worker& worker, Shard& shard, const Tile& tile) {
        worker.evaluate(points[tile.set], tile.begin, tile.count, weights_, unknowns_of(x));
        const std::size_t group = group_of(tile.set);
        for (int k : terms_of[tile.set])
          for (std::size_t j = 0; j < group; ++j)
            std::copy_n(seeds[k].data() + tile.begin / group, tile.count / group,
                        worker.bars(place_in_set[k]) + j * (tile.count / group));
        worker.backward(weights_, *shard.gradient, shard.unknown_bars);
      });
      sums_.gather();
      write_gradient(x, {gradient, layout.size()});
    });
  }

  // Tiles of a set by shards, as tiles_of_shard deals them.
  IndexRange visited_by(int rank, int set, std::size_t count) const override {
    const std::size_t tile = tile_points_[set] / group_of(set), tiles = (count + tile - 1) / tile;
    const auto own = sums_.of(rank);
    return {std::min(count, tiles * own.begin / sums_.size() * tile),
            std::min(count, tiles * own.end / sums_.size() * tile)};
  }

  void visit_signals(std::span<const double> x, int term, std::size_t first, std::size_t count,
                     std::span<const double> seeds, PinnObjective::SignalVisitor& visitor,
                     Reach reach) override {
    if constexpr (!std::is_same_v<T, double>) {
      throw Error("per-point derivatives are not available in float32; use float64");
    } else {
      weights_.update(x, frozen);
      const int set = problem.terms[term].point_set;
      // Groups of points are points with so many more components.
      const std::size_t group = group_of(set), tile_size = tile_points_[set] / group,
                        tiles = (count + tile_size - 1) / tile_size;
      const IndexRange visited = reach == Reach::own_share ? sums_.own() : IndexRange{0, sums_.size()};
      over_shards(visited, [&](int thread, std::size_t shard) {
        Worker& worker = workers_[thread][set];
        const int t = static_cast<int>(shard);
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
        const auto [begin, end] = share_of(tiles, t, shards());
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
  using Worker = PointSetEvaluator<T>;

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
  void add_term(Shard& shard, Worker& worker, const Tile& tile, int k, bool with_bars) {
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
      shard.sums[k] += sum;
      for (std::size_t i = 0; i < tile.count && with_bars; ++i)
        worker.bars(place_in_set[k])[i] =
            static_cast<T>(scale * (p ? p[i % groups] : 1.0) * sums[i % groups]);
      return;
    }
    for (std::size_t i = 0; i < tile.count; ++i)
      sum += (p ? p[i] : 1.0) * static_cast<double>(r[i]) * static_cast<double>(r[i]);
    shard.sums[k] += sum;
    if (!with_bars) return;
    T* bars = worker.bars(place_in_set[k]);
    for (std::size_t i = 0; i < tile.count; ++i)
      bars[i] = static_cast<T>(scale * (p ? p[i] : 1.0) * static_cast<double>(r[i]));
  }

  void compute_sum(std::span<const double> x, double* gradient) {
    over_tiles(gradient != nullptr, [&](Worker& worker, Shard& shard, const Tile& tile) {
      worker.evaluate(points[tile.set], tile.begin, tile.count, weights_, unknowns_of(x));
      for (int k : terms_of[tile.set]) add_term(shard, worker, tile, k, gradient != nullptr);
      if (gradient) worker.backward(weights_, *shard.gradient, shard.unknown_bars);
    });
    sums_.gather();
    for (std::size_t k = 0; k < losses.size(); ++k) losses[k] = loss_of(k);
    if (gradient) write_gradient(x, {gradient, layout.size()});
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

  double loss_of(std::size_t k) const {
    return term_weights[k] * sums_.of_term(k) / static_cast<double>(residuals_of(problem.terms[k].point_set));
  }
  void write_gradient(std::span<const double> x, std::span<double> gradient) {
    sums_.add_gradients(team_).write(x, gradient);
    for (std::size_t u = 0; u < problem.unknowns.size(); ++u)
      gradient[tape.parameters().size() + u] = sums_.of_unknown(u);
  }

  // One backward pass per term; the network is run forward again
  // for each, which keeps memory at one gradient per shard.
  void compute_terms(std::span<const double> x, std::vector<std::vector<double>>& gradients) {
    std::vector<double> values(losses.size());
    for (std::size_t k = 0; k < losses.size(); ++k) {
      const int set = problem.terms[k].point_set;
      over_sums(true, [&](int thread, std::size_t s, Shard& shard) {
        Worker& worker = workers_[thread][set];
        for (const Tile& tile : tiles_of_shard(set, s)) {
          worker.evaluate(points[set], tile.begin, tile.count, weights_, unknowns_of(x));
          for (int other : terms_of[set]) {
            if (other == static_cast<int>(k))
              add_term(shard, worker, tile, other, true);
            else
              std::fill_n(worker.bars(place_in_set[other]), tile.count, T(0));
          }
          worker.backward(weights_, *shard.gradient, shard.unknown_bars);
        }
      });
      sums_.gather();
      values[k] = loss_of(k);
      write_gradient(x, gradients[k]);
    }
    std::copy(values.begin(), values.end(), losses.begin());
  }

  // f(thread, shard), every shard in one thread.
  template <class F>
  void over_shards(IndexRange range, const F& f) {
    team_.run([&](int t) {
      const auto [first, last] = share_of(range.end - range.begin, t, team_.size());
      for (std::size_t s = range.begin + first; s < range.begin + last; ++s) f(t, s);
    });
  }
  // f(thread, number, shard) for the shards of this rank, whose sums it adds to.
  template <class F>
  void over_sums(bool with_gradient, const F& f) {
    const IndexRange own = sums_.own();
    team_.run([&](int t) {
      const auto [first, last] = share_of(own.end - own.begin, t, team_.size());
      for (std::size_t s = own.begin + first; s < own.begin + last; ++s) {
        f(t, s, sums_.begin(t, s, with_gradient));
        if (with_gradient) sums_.end(t, own.begin + first, s);
      }
    });
  }
  // Tiles are dealt to shards set by set, or all together by their cost.
  std::span<const Tile> tiles_of_shard(int set, std::size_t s) {
    const auto [first, last] = share_of(tiles_of_[set].size(), static_cast<int>(s), shards());
    return std::span(tiles_of_[set]).subspan(first, last - first);
  }
  template <class F>
  void over_tiles(bool with_gradient, const F& f) {
    over_sums(with_gradient, [&](int t, std::size_t s, Shard& shard) {
      for (std::size_t i = bounds_[s]; i < bounds_[s + 1]; ++i)
        f(workers_[t][all_tiles_[i].set], shard, all_tiles_[i]);
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
  ShardSums sums_;
  std::vector<std::vector<Worker>> workers_;  // by thread and point set
  std::vector<std::size_t> tile_points_;
  std::vector<std::vector<Tile>> tiles_of_;
  std::vector<Tile> all_tiles_;
  std::vector<std::size_t> bounds_;  // shard s has all_tiles_[bounds_[s] … bounds_[s + 1])
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
