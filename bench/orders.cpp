// What a derivative of high order costs: loss + gradient and its preparation for highest orders 2 … 6, in turn.
//   bench_orders [width] [points] [cuda]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lather/core/clock.hpp"
#include "lather/core/device.hpp"
#include "lather/core/rng.hpp"
#include "lather/pde/engine/compiled_point_set.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"

namespace {

using namespace lather;

// x: the n-th derivative in x with u_y and u u_x, as in wave equations. xy: all derivatives of order n.
pde::Problem problem_of(const std::string& family, int order, int width) {
  std::string residual = family == "x" ? "u_y + u*u_x" : "u";
  for (int k = family == "x" ? order : 0; k <= order; ++k)
    residual += " + u_" + std::string(k, 'x') + std::string(order - k, 'y');
  const std::string text =
      "name = \"orders\"\ncoordinates = [\"x\", \"y\"]\nfields = [\"u\"]\n[domain]\n"
      "x = [-1, 1]\ny = [0, 1]\n[[equation]]\nname = \"equation\"\nresidual = \"" +
      residual + "\"\n[network]\ndepth = 4\n";
  return pde::read_problem_text(text, "bench", {{"network.width", std::to_string(width)}});
}

// Processor time on the CPU: the machine may be shared.
double seconds_on(Device device) {
  static const Stopwatch watch;
  if (device == Device::cuda) return watch.seconds();
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Run {
  Run(Device device, const std::string& family, int order, int width, std::size_t points)
      : order(order), device(device) {
    const pde::Problem problem = problem_of(family, order, width);
    const double start = seconds_on(device);
    objective =
        std::make_unique<pde::PinnObjective>(problem, pde::EngineOptions{.device = device, .threads = 1});
    preparation = seconds_on(device) - start;
    x = objective->initialize(1);
    const auto set = pde::compile_set(problem, objective->tape(), std::vector{problem.terms[0].residual});
    jets = set.jets.size();
    for (const auto& program : set.tape.programs)  // the first hidden layer's activation
      if (instructions == 0) instructions = program.forward.code.size() + program.adjoint.code.size();
    pde::Points p;
    for (int i = 0; i < 2; ++i) {
      auto& array = p.coordinates.emplace_back(points);
      for (std::size_t k = 0; k < points; ++k) array[k] = Random(1, i).uniform(k);
    }
    objective->set_points(0, p);
    gradient.resize(x.size());
  }
  void time() {
    const double start = seconds_on(device);
    objective->value_and_gradient(x, gradient);
    best = std::min(best, seconds_on(device) - start);
  }
  int order, jets = 0;
  Device device;
  std::size_t instructions = 0;
  double preparation = 0, best = 1e9;
  std::unique_ptr<pde::PinnObjective> objective;
  std::vector<double> x, gradient;
};

}  // namespace

int main(int argc, char** argv) {
  const int width = argc > 1 ? std::atoi(argv[1]) : 64;
  const std::size_t points = argc > 2 ? std::atoi(argv[2]) : 2048;
  const Device device = argc > 3 && std::string_view(argv[3]) == "cuda" ? Device::cuda : Device::cpu;
  fmt::print("loss + gradient, mlp 4x{} tanh, float64, {} points, {}, best of 12 rounds\n", width, points,
             device == Device::cuda ? "one GPU, parameters and gradient on the host" : "one thread");
  for (const std::string family : {"x", "xy"}) {
    std::vector<Run> runs;
    for (int order = 2; order <= symbolic::kMaxOrder; ++order)
      runs.emplace_back(device, family, order, width, points);
    for (int round = 0; round < 12; ++round)
      for (auto& run : runs) run.time();
    fmt::print("{:22} {:>6} {:>6} {:>8} {:>8} {:>10} {:>14} {:>12}\n",
               family == "x" ? "u_y + u*u_x + u_x…x" : "all of order n", "order", "jets", "ms", "ratio",
               "ms / jet", "instructions", "prepared ms");
    for (const auto& run : runs)
      fmt::print("{:22} {:6} {:6} {:8.2f} {:8.2f} {:10.3f} {:14} {:12.1f}\n", "", run.order, run.jets,
                 run.best * 1e3, run.best / runs[0].best, run.best * 1e3 / run.jets, run.instructions,
                 run.preparation * 1e3);
  }
}
