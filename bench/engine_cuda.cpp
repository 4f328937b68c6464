// Loss + gradient on the GPU, as graph replays timed by events (median), parameters and gradient on the
// device.
//   bench_engine_cuda                 the table
//   bench_engine_cuda once WIDTH      one evaluation of the Burgers case without a graph, for profilers
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lather/core/cuda/runtime.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/cuda/cuda_objective.hpp"
#include "lather/pde/objective.hpp"

namespace {

using namespace lather;
using symbolic::Expr;
using symbolic::MultiIndex;

MultiIndex order(int x, int y = 0) {
  MultiIndex index;
  index.order[0] = static_cast<std::uint8_t>(x);
  index.order[1] = static_cast<std::uint8_t>(y);
  return index;
}

pde::Problem base(const net::NetworkOptions& network, std::vector<std::string> fields) {
  pde::Problem p;
  p.symbols =
      std::make_shared<pde::OutputSymbols>(*p.graph, std::vector<std::string>{"x", "t"}, std::move(fields));
  p.domain = {{-1, 1}, {0, 1}};
  p.network_inputs = {p.symbols->coordinate(0), p.symbols->coordinate(1)};
  p.network = network;
  p.point_sets.push_back({"interior", pde::PointSet::Kind::interior, {}, {}, {}});
  p.point_sets.push_back({"initial", pde::PointSet::Kind::boundary, {}, {}, {}});
  p.point_sets.push_back({"walls", pde::PointSet::Kind::boundary, {}, {}, {}});
  return p;
}

void add_conditions(pde::Problem& p) {
  const Expr u = p.symbols->output(0), x = p.symbols->coordinate(0);
  p.terms.push_back({"initial", 1, u + sin(3.14159265358979 * x), 100});
  p.terms.push_back({"walls", 2, u, 1});
}

// The peers' problem: 256 initial and 256 boundary points.
pde::Problem burgers(const net::NetworkOptions& network) {
  pde::Problem p = base(network, {"u"});
  auto& s = *p.symbols;
  p.terms.push_back({"momentum", 0,
                     s.output(0, order(0, 1)) + s.output(0) * s.output(0, order(1)) -
                         (0.01 / 3.14159265358979) * s.output(0, order(2)),
                     1});
  add_conditions(p);
  return p;
}

pde::Problem kdv(const net::NetworkOptions& network) {
  pde::Problem p = base(network, {"u"});
  auto& s = *p.symbols;
  p.terms.push_back(
      {"kdv", 0,
       s.output(0, order(0, 1)) + s.output(0) * s.output(0, order(1)) + 0.022 * 0.022 * s.output(0, order(3)),
       1});
  add_conditions(p);
  return p;
}

pde::Problem cavity(const net::NetworkOptions& network) {
  pde::Problem p = base(network, {"u", "v", "p"});
  auto& s = *p.symbols;
  const auto d = [&](int k, int x, int y) { return s.output(k, order(x, y)); };
  for (int k : {0, 1})
    p.terms.push_back({k ? "y" : "x", 0,
                       d(0, 0, 0) * d(k, 1, 0) + d(1, 0, 0) * d(k, 0, 1) + d(2, 1 - k, k) -
                           0.01 * (d(k, 2, 0) + d(k, 0, 2)),
                       1});
  p.terms.push_back({"continuity", 0, d(0, 1, 0) + d(1, 0, 1), 1});
  add_conditions(p);
  return p;
}

pde::Points random_points(std::size_t count, int seed) {
  pde::Points p;
  for (int i = 0; i < 2; ++i) {
    auto& array = p.coordinates.emplace_back(count);
    for (std::size_t k = 0; k < count; ++k) array[k] = Random(seed, i).uniform(k);
  }
  return p;
}

struct Run {
  Run(const pde::Problem& problem, std::size_t points, const pde::EngineOptions& options)
      : objective(problem, options) {
    x = objective.initialize(1);
    objective.set_points(0, random_points(points, 1));
    objective.set_points(1, random_points(256, 2));
    objective.set_points(2, random_points(256, 3));
    std::vector<double> g(x.size());
    objective.value_and_gradient(x, g);  // parameters to the device, everything warm
    objective.cuda_objective()->refresh();
  }
  pde::PinnObjective objective;
  std::vector<double> x;
};

double milliseconds(optim::CudaObjective& device) {
  constexpr int kInner = 10;
  const cudaStream_t stream = device.stream();
  const cuda::Graph graph(stream, [&] {
    for (int i = 0; i < kInner; ++i) device.enqueue_gradient();
  });
  const cuda::Event start(true), stop(true);
  std::vector<float> times;
  for (int repeat = 0; repeat < 23; ++repeat) {
    cuda::check(cudaEventRecord(start, stream));
    graph.launch(stream);
    cuda::check(cudaEventRecord(stop, stream));
    cuda::check(cudaEventSynchronize(stop));
    float ms = 0;
    cuda::check(cudaEventElapsedTime(&ms, start, stop));
    if (repeat >= 3) times.push_back(ms / kInner);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Multiply-adds of the d × d products alone, as operations: three products per layer and derivative.
double gigaflops(const pde::PinnObjective& objective, double rows) {
  double flops = 0;
  for (const auto& operation : objective.tape().operations())
    if (const auto& d = operation.dense; d && d->in.width > 8 && d->out.width > 8)
      flops += 6 * rows * d->in.width * d->out.width;
  return flops * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const auto report = cuda_report();
  fmt::print("{}\n", report.text);
  if (!report.usable) return 0;
  if (argc > 2 && std::strcmp(argv[1], "once") == 0) {
    Run run(burgers({.width = std::atoi(argv[2]), .depth = 4}), 8192,
            {.device = Device::cuda, .overlap = false});
    run.objective.cuda_objective()->enqueue_gradient();
    cuda::check(cudaStreamSynchronize(run.objective.cuda_objective()->stream()));
    return 0;
  }
  struct Case {
    std::string name;
    pde::Problem problem;
    std::size_t points;
    int components;
  };
  std::vector<Case> cases;
  const auto mlp = [](std::int64_t width) { return net::NetworkOptions{.width = width, .depth = 4}; };
  cases.push_back({"burgers mlp 4x64", burgers(mlp(64)), 4096, 4});
  for (std::int64_t width : {128, 256, 1024})
    cases.push_back({fmt::format("burgers mlp 4x{}", width), burgers(mlp(width)), 8192, 4});
  for (std::int64_t width : {128, 256})
    cases.push_back({fmt::format("kdv mlp 4x{}", width), kdv(mlp(width)), 8192, 5});
  for (std::int64_t width : {128, 256})
    cases.push_back({fmt::format("cavity mlp 4x{}", width), cavity(mlp(width)), 8192, 4});
  cases.push_back(
      {"burgers piratenet 3x256",
       burgers({.type = net::NetworkType::piratenet, .width = 256, .depth = 3, .fourier_features = 256}),
       8192, 4});
  struct Variant {
    const char* name;
    bool overlap;
    std::size_t rows;
  };
  const Variant variants[] = {
      {"plain", false, 0}, {"overlap", true, 0}, {"16k rows", true, 16896}, {"8k rows", true, 8448}};
  fmt::print(
      "loss + gradient, ms (median of 20 graph replays of 10); 256 initial and 256 boundary points besides; "
      "TF/s: products only, best variant\n");
  fmt::print("{:26} {:>8} {:>7}", "case", "type", "N");
  for (const auto& v : variants) fmt::print(" {:>9}", v.name);
  fmt::print(" {:>7} {:>9}\n", "TF/s", "MiB");
  for (const auto& c : cases)
    for (auto precision : {pde::Precision::float64, pde::Precision::float32}) {
      fmt::print("{:26} {:>8} {:7}", c.name, precision == pde::Precision::float64 ? "float64" : "float32",
                 c.points);
      double best = 1e9, gflop = 0, mib = 0;
      for (const auto& v : variants) {
        Run run(c.problem, c.points,
                {.device = Device::cuda, .precision = precision, .tile_rows = v.rows, .overlap = v.overlap});
        const double ms = milliseconds(*run.objective.cuda_objective());
        best = std::min(best, ms);
        gflop = gigaflops(run.objective, static_cast<double>(c.points) * c.components + 512);
        if (v.rows == 0) mib = static_cast<double>(run.objective.workspace_bytes()) / (1 << 20);
        fmt::print(" {:9.3f}", ms);
        std::fflush(stdout);
      }
      fmt::print(" {:7.1f} {:9.0f}\n", gflop / best, mib);
    }
}
