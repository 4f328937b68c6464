// Peak memory of one loss + gradient with a million points at
// width 128: bounded by tiling, whatever the number of points.
//   bench_memory [points] [width]
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>

#include "lather/core/clock.hpp"
#include "lather/core/threads.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"
#include "lather/pde/sampling/point_source.hpp"

int main(int argc, char** argv) {
  using namespace lather;
  const std::size_t count = argc > 1 ? std::atoi(argv[1]) : 1000000;
  auto problem = pde::read_problem_text(R"toml(
name = "heat"
coordinates = ["x", "t"]
fields = ["u"]
domain = {x = [-1, 1], t = [0, 1]}
equation = [{name = "heat", residual = "u_t - 0.1*u_xx"}]
)toml",
                                        "heat.toml");
  problem.network.width = argc > 2 ? std::atoi(argv[2]) : 128;
  pde::PinnObjective loss(problem);
  auto x = loss.initialize(1);
  pde::PointSource(
      problem,
      pde::sampling_settings(
          {.points = {{"interior", static_cast<std::int64_t>(count)}}, .sampling = {}, .focus = {}}, problem),
      1)
      .update(0, loss, x);
  std::vector<double> gradient(x.size());
  Stopwatch watch;
  loss.value_and_gradient(x, gradient);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{} points, width {}: loss + gradient {:.2f} s with {} threads, peak memory {:.0f} MB (arenas and "
      "gradients {:.0f} MB)\n",
      count, problem.network.width, watch.seconds(), loss.team()->size(),
      static_cast<double>(usage.ru_maxrss) / 1024, static_cast<double>(loss.workspace_bytes()) / (1 << 20));
}
