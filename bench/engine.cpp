// Time of loss + gradient next to its floor: the same matrix
// products alone, in the same run, and the FMA peak.
//   bench_engine [threads] [points]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "lather/core/clock.hpp"
#include "lather/core/rng.hpp"
#include "lather/core/threads.hpp"
#include "lather/net/layer_weights.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/objective.hpp"

namespace {

using namespace lather;
using symbolic::MultiIndex;

pde::Problem burgers(const net::NetworkOptions& network) {
  pde::Problem p;
  p.symbols = std::make_shared<pde::OutputSymbols>(*p.graph, std::vector<std::string>{"x", "t"},
                                                   std::vector<std::string>{"u"});
  p.domain = {{-1, 1}, {0, 1}};
  p.network_inputs = {p.symbols->coordinate(0), p.symbols->coordinate(1)};
  p.network = network;
  const auto u = p.symbols->output(0), u_x = p.symbols->output(0, MultiIndex{}.plus(0)),
             u_t = p.symbols->output(0, MultiIndex{}.plus(1)),
             u_xx = p.symbols->output(0, MultiIndex{}.plus(0).plus(0));
  p.point_sets.push_back({"interior", pde::PointSet::Kind::interior, {}, {}, {}});
  p.terms.push_back({"momentum", 0, u_t + u * u_x - (0.01 / 3.14159265358979) * u_xx, 1});
  return p;
}

// Processor time of this thread: on a shared machine it is
// steadier than the wall clock, which several threads need.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class F>
double best_seconds(int threads, F&& f) {
  f();
  double best = 1e9, total = 0;
  for (int repeat = 0; repeat < 30 && (repeat < 4 || total < 1.5); ++repeat) {
    Stopwatch watch;
    const double start = thread_seconds();
    f();
    const double t = threads == 1 ? thread_seconds() - start : watch.seconds();
    best = std::min(best, t);
    total += t;
  }
  return best;
}

// Every dense product of one loss + gradient (forward, weight gradient, input gradient) and nothing else.
struct ProductsOnly {
  ProductsOnly(const net::Tape& tape, int components, std::size_t points, std::size_t tile_points,
               ThreadTeam& team, std::span<const double> parameters, std::span<const double> frozen)
      : team(team), weights(tape) {
    weights.update(parameters, frozen);
    const std::size_t rows = components * tile_points;
    tiles = (points + tile_points - 1) / tile_points;
    for (int t = 0; t < team.size(); ++t) threads.emplace_back(tape);
    needs_bar = net::compile_tape(tape, symbolic::JetSet::closure(2, {})).needs_bar;
    for (std::size_t i = 0; i < tape.operations().size(); ++i) {
      const auto& d = tape.operations()[i].dense;
      if (!d) continue;
      const std::size_t in = linalg::padded_width<double>(d->in.width),
                        out = linalg::padded_width<double>(d->out.width);
      layers.push_back({i, rows, static_cast<std::size_t>(d->in.width),
                        static_cast<std::size_t>(d->out.width), in, out, d->weight.frozen,
                        needs_bar[d->in.buffer] != 0});
      flops += 2.0 * rows * d->in.width * d->out.width *
               (1 + !d->weight.frozen + (needs_bar[d->in.buffer] != 0)) * tiles;
      for (auto& thread : threads) {
        thread.a.emplace_back(rows * in);
        thread.z.emplace_back(rows * out);
        for (std::size_t k = 0; k < thread.a.back().size(); ++k)
          thread.a.back()[k] = 1e-3 * static_cast<double>(k % 17);
      }
    }
  }
  void operator()() {
    team.run([&](int t) {
      auto& thread = threads[t];
      const auto [first, last] = share_of(tiles, t, team.size());
      for (std::size_t tile = first; tile < last; ++tile) {
        for (std::size_t k = 0; k < layers.size(); ++k) {
          const auto& l = layers[k];
          linalg::multiply(l.rows, thread.a[k].data(), l.lda, weights.layer(l.operation).weight,
                           thread.z[k].data(), l.ldz, static_cast<const double*>(nullptr), 0, false);
        }
        for (std::size_t k = layers.size(); k-- > 0;) {
          const auto& l = layers[k];
          if (!l.frozen) {
            auto& g = thread.gradients.layer(l.operation);
            linalg::add_outer(l.rows, thread.a[k].data(), l.lda, l.in, thread.z[k].data(), l.ldz, l.out,
                              g.weight.data(), g.stride);
          }
          if (l.needs_bar)
            linalg::multiply(l.rows, thread.z[k].data(), l.ldz, weights.layer(l.operation).transposed,
                             thread.a[k].data(), l.lda, static_cast<const double*>(nullptr), 0, false);
        }
      }
    });
  }
  struct Layer {
    std::size_t operation, rows, in, out, lda, ldz;
    bool frozen, needs_bar;
  };
  struct Thread {
    explicit Thread(const net::Tape& tape) : gradients(tape) {}
    net::LayerGradients<double> gradients;
    std::vector<Buffer<double>> a, z;
  };
  ThreadTeam& team;
  net::LayerWeights<double> weights;
  std::vector<Thread> threads;
  std::vector<Layer> layers;
  std::vector<char> needs_bar;
  std::size_t tiles;
  double flops = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int most_threads = argc > 1 ? std::atoi(argv[1]) : available_cores();
  const std::size_t points = argc > 2 ? std::atoi(argv[2]) : 8192;
  fmt::print(
      "loss + gradient, u u_x u_t u_xx, float64, {} points; floor = its matrix products alone, same tiles, "
      "same run\n",
      points);
  fmt::print("{:24} {:>7} {:>6} {:>10} {:>12} {:>10} {:>7} {:>12}\n", "network", "threads", "tile", "ms",
             "points/s", "floor ms", "ratio", "floor GF/s");
  struct Case {
    std::string name;
    net::NetworkOptions network;
  };
  std::vector<Case> cases;
  for (std::int64_t width : {64, 128, 256})
    cases.push_back({fmt::format("mlp 4x{} tanh", width), {.width = width, .depth = 4}});
  cases.push_back({"piratenet 3x128 tanh",
                   {.type = net::NetworkType::piratenet, .width = 128, .depth = 3, .fourier_features = 128}});
  const auto* rows_text = std::getenv("LATHER_TILE_ROWS");
  for (const auto& c : cases) {
    double single = 0;
    for (int threads = 1; threads <= most_threads;
         threads = threads == most_threads ? threads + 1 : most_threads) {
      const std::size_t tile_rows = rows_text ? std::atoi(rows_text) : 0;
      pde::PinnObjective objective(burgers(c.network), {.threads = threads, .tile_rows = tile_rows});
      auto x = objective.initialize(1);
      pde::Points p;
      for (int i = 0; i < 2; ++i) {
        auto& array = p.coordinates.emplace_back(points);
        for (std::size_t k = 0; k < points; ++k) array[k] = Random(1, i).uniform(k);
      }
      objective.set_points(0, p);
      std::vector<double> g(x.size());
      ThreadTeam team(threads);
      const std::size_t tile = objective.tile_points(0);
      ProductsOnly products(objective.tape(), 4, points, tile, team, x, objective.frozen());
      const double seconds = best_seconds(threads, [&] { objective.value_and_gradient(x, g); });
      const double floor = best_seconds(threads, products);
      if (threads == 1) single = seconds;
      fmt::print("{:24} {:7} {:6} {:10.2f} {:12.0f} {:10.2f} {:7.3f} {:12.1f}{}\n", c.name, threads, tile,
                 seconds * 1e3, points / seconds, floor * 1e3, seconds / floor, products.flops / floor * 1e-9,
                 threads > 1 ? fmt::format("   speed-up {:.2f}", single / seconds) : "");
    }
  }
}
