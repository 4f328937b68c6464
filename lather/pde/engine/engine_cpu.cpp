// The engine on the CPU: tiles of points over a team of threads.
//
// Tiles are dealt to shards once, by cost, in contiguous runs; a shard has its own gradient and its own loss
// sums, and sums of shards are added in a fixed order. Ranks and their threads share the shards. So results
// depend on the number of shards (by default, as many as threads) only by rounding, and not at all on
// threads, ranks and timing.

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"
#include "lather/core/threads.hpp"
#include "lather/pde/engine/dealt_tiles.hpp"
#include "lather/pde/engine/engine.hpp"
#include "lather/pde/engine/host_jacobian.hpp"
#include "lather/pde/engine/point_set_evaluator.hpp"
#include "lather/pde/engine/shard_sums.hpp"

namespace lather::pde {

namespace {

// Rows (points × components) of a tile such that all layers' jets and weights stay in the second-level cache.
constexpr std::size_t kTileRows =
    96;  // Measured: 96 to 144 rows are best at widths 64, 128 and 256 (bench_engine).

template <class T>
class CpuEngine final : public Engine {
 public:
  CpuEngine(const Problem& given, const EngineOptions& engine_options)
      : Engine(given, engine_options),
        team_(std::min(threads_asked(), most_threads())),
        weights_(tape),
        sums_(tape, problem.terms.size(), problem.unknowns.size(),
              options.shards > 0 ? options.shards : threads_asked(), team_.size(), options.ranks),
        tiles_(sums_.size(), options.shards > 0) {
    for (int s = 0; s < static_cast<int>(sets.size()); ++s) {
      const std::size_t points = tile_points_for(sets[s]), group = group_of(s);
      tiles_.add_set(group == 1 ? points : std::max<std::size_t>(1, points / group) * group,
                     sets[s].jets.size());
    }
    for (int t = 0; t < team_.size(); ++t) {
      auto& workers = workers_.emplace_back();
      for (int s = 0; s < static_cast<int>(sets.size()); ++s)
        workers.emplace_back(sets[s], tape, tile_points(s), group_of(s));
    }
  }

  ThreadTeam& team() override { return team_; }
  int shards() override { return static_cast<int>(sums_.size()); }
  std::size_t tile_points(int set) const override { return tiles_.points_of_tile(set); }

  std::size_t workspace_bytes() const override {
    std::size_t total = 0;
    for (const auto& workers : workers_)
      for (const auto& worker : workers) total += worker.bytes();
    return total + sums_.bytes();
  }

  void points_changed(int set) override { tiles_.deal(set, points[set].count()); }

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

  void values(std::span<const double> xs, std::span<double> values) override {
    require_points();
    prepare_trials(xs);
    with_ranks([&] {
      for (auto& trial : trials_)
        for (auto [s, last] = sums_.own(); s < last; ++s) trial.sums.begin(0, s, false);
      over_trials(
          xs, [&](std::size_t s) { return tiles_.of_shard(s); },
          [&](Worker& worker, std::size_t i, std::size_t s, const Tile& tile) {
            for (int k : terms_of[tile.set]) add_term(trials_[i].sums.shard(s), worker, tile, k, false);
          });
      for (std::size_t i = 0; i < values.size(); ++i) {
        take_losses(trials_[i].sums);
        values[i] = total_loss();
      }
    });
  }

  void residuals(std::span<const double> xs, std::span<double* const> r) override {
    prepare_trials(xs);
    const std::size_t terms = problem.terms.size();
    with_ranks([&] {
      for (int set = 0; set < static_cast<int>(sets.size()); ++set) {
        std::vector<std::size_t> wanted;
        for (const int k : terms_of[set])
          if (r[k]) wanted.push_back(k);
        if (wanted.empty()) continue;
        over_trials(
            xs, [&](std::size_t s) { return tiles_.of_shard(set, s); },
            [&](Worker& worker, std::size_t i, std::size_t, const Tile& tile) {
              for (const std::size_t k : wanted)
                add_groups(worker.values(place_in_set[k]), tile.count, group_of(set),
                           r[i * terms + k] + tile.begin / group_of(set));
            });
        for (std::size_t first = 0; first < r.size(); first += terms)
          for (const std::size_t k : wanted) gather_visited(set, residuals_of(set), 1, r[first + k]);
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
          poll_stop();
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
        poll_stop();
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

  // Follows how the tiles of a set are dealt to shards.
  IndexRange visited_by(int rank, int set, std::size_t count) const override {
    const std::size_t tile = tile_points(set) / group_of(set), tiles = (count + tile - 1) / tile;
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
      // A group of points is a point with `group` times as many components.
      const std::size_t group = group_of(set), tile_size = tile_points(set) / group,
                        tiles = (count + tile_size - 1) / tile_size;
      const IndexRange visited = reach == Reach::own_share ? sums_.own() : IndexRange{0, sums_.size()};
      over_shards(visited, [&](int thread, std::size_t shard) {
        Worker& worker = workers_[thread][set];
        const int t = static_cast<int>(shard);
        std::vector<T> sums(tile_size);
        const auto per_group = [&](std::span<const T> values) {
          if (group == 1) return values;
          add_groups(values.data(), values.size(), group, sums.data());
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
          poll_stop();
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

  int threads_asked() const { return options.threads > 0 ? options.threads : available_cores(); }

  std::size_t tile_points_for(const CompiledPointSet& set) const {
    const std::size_t rows = options.tile_rows > 0 ? options.tile_rows : kTileRows;
    return std::max<std::size_t>(1, rows / set.jets.size());
  }

  void prepare_trials(std::span<const double> xs) {
    const std::size_t count = xs.size() / layout.size();
    while (trials_.size() < count) trials_.push_back({net::LayerWeights<T>(tape), sums_.more()});
    for (std::size_t i = 0; i < count; ++i) trials_[i].weights.update(x_at(xs, i), frozen);
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
      add_groups(r, tile.count, group, sums.data());
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
      poll_stop();
      worker.evaluate(points[tile.set], tile.begin, tile.count, weights_, unknowns_of(x));
      for (int k : terms_of[tile.set]) add_term(shard, worker, tile, k, gradient != nullptr);
      if (gradient) worker.backward(weights_, *shard.gradient, shard.unknown_bars);
    });
    take_losses(sums_);
    if (gradient) write_gradient(x, {gradient, layout.size()});
  }

  double loss_of(const ShardSums& sums, std::size_t k) const {
    return term_weights[k] * sums.of_term(k) / static_cast<double>(residuals_of(problem.terms[k].point_set));
  }
  void take_losses(ShardSums& sums) {
    sums.gather();
    for (std::size_t k = 0; k < losses.size(); ++k) losses[k] = loss_of(sums, k);
  }
  void write_gradient(std::span<const double> x, std::span<double> gradient) {
    sums_.add_gradients(team_).write(x, gradient);
    for (std::size_t u = 0; u < problem.unknowns.size(); ++u)
      gradient[tape.parameters().size() + u] = sums_.of_unknown(u);
  }

  // One backward pass per term; the network is run forward again for each, so that the gradients of only one
  // term are held.
  void compute_terms(std::span<const double> x, std::vector<std::vector<double>>& gradients) {
    std::vector<double> values(losses.size());
    for (std::size_t k = 0; k < losses.size(); ++k) {
      const int set = problem.terms[k].point_set;
      over_sums(true, [&](int thread, std::size_t s, Shard& shard) {
        Worker& worker = workers_[thread][set];
        for (const Tile& tile : tiles_.of_shard(set, s)) {
          poll_stop();
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
      values[k] = loss_of(sums_, k);
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
  template <class F>
  void over_tiles(bool with_gradient, const F& f) {
    over_sums(with_gradient, [&](int t, std::size_t s, Shard& shard) {
      for (const Tile& tile : tiles_.of_shard(s)) f(workers_[t][tile.set], shard, tile);
    });
  }
  // Evaluates the tiles of every trial, tiles_of(shard), and calls f(worker, trial, shard, tile) after each.
  // Threads share (trial, shard) pairs: if there are few points, the trials keep them busy.
  template <class TilesOf, class F>
  void over_trials(std::span<const double> xs, const TilesOf& tiles_of, const F& f) {
    std::vector<std::size_t> shards;  // that have tiles
    for (auto [s, last] = sums_.own(); s < last; ++s)
      if (!tiles_of(s).empty()) shards.push_back(s);
    const std::size_t pairs = xs.size() / layout.size() * shards.size(), threads = team_.size();
    team_.run([&](int t) {  // the first threads get more: they are awake
      for (std::size_t pair = (pairs * t + threads - 1) / threads;
           pair < (pairs * (t + 1) + threads - 1) / threads; ++pair) {
        const std::size_t i = pair / shards.size(), s = shards[pair % shards.size()];
        for (const Tile& tile : tiles_of(s)) {
          Worker& worker = workers_[t][tile.set];
          poll_stop();
          worker.evaluate(points[tile.set], tile.begin, tile.count, trials_[i].weights,
                          unknowns_of(x_at(xs, i)));
          f(worker, i, s, tile);
        }
      }
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
  DealtTiles tiles_;
  struct Trial {
    net::LayerWeights<T> weights;
    ShardSums sums;
  };
  std::vector<Trial> trials_;
  std::map<std::vector<std::uint32_t>, std::unique_ptr<CompiledPointSet>> evaluation_sets_;
  HostJacobian jacobian_{*this, [this](const auto& x, const auto& seeds, double* gradient) {
                           transposed_times(x, seeds, gradient);
                         }};
};

}  // namespace

// A few more than cores do no harm and find faults in tests; thousands take gigabytes and make no step.
int most_threads() { return 4 * available_cores(); }

std::unique_ptr<Engine> make_cpu_engine(const Problem& problem, const EngineOptions& options) {
  if (options.precision == Precision::float32) return std::make_unique<CpuEngine<float>>(problem, options);
  return std::make_unique<CpuEngine<double>>(problem, options);
}

}  // namespace lather::pde
