// What shards and one rank cost in an evaluation of loss and gradient (Burgers in an ansatz, 4 layers, one thread).
// Taken in turn in one process and timed by the thread's own clock, so that other load on the machine matters
// little: medians of the ratios to the evaluation without shards.
//   bench_shards [rounds]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "burgers.hpp"
#include "lather/core/rng.hpp"
#include "lather/parallel/local_ranks.hpp"
#include "lather/pde/objective.hpp"

namespace {

using namespace lather;

double thread_seconds() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void measure(int width, std::size_t points, int rounds, parallel::Communicator* rank) {
  const auto problem = bench::burgers(width, 4);
  const pde::EngineOptions variants[] = {
      {.threads = 1}, {.threads = 1, .shards = 16}, {.threads = 1, .shards = 16, .ranks = rank}};
  pde::Points at;
  for (std::uint64_t k = 0; k < 2; ++k) {
    auto& x = at.coordinates.emplace_back(points);
    for (std::size_t i = 0; i < points; ++i) x[i] = Random(1, k).uniform(i);
  }
  std::vector<std::unique_ptr<pde::PinnObjective>> objectives;
  for (const auto& options : variants) {
    objectives.push_back(std::make_unique<pde::PinnObjective>(problem, options));
    objectives.back()->set_points(0, at);
  }
  const auto x = objectives[0]->initialize(1);
  std::vector<double> gradient(x.size()), alone, ratios[2];
  for (int round = 0; round < rounds; ++round) {
    double seconds[3];
    for (int k = 0; k < 3; ++k) {
      const double before = thread_seconds();
      objectives[k]->value_and_gradient(x, gradient);
      seconds[k] = thread_seconds() - before;
    }
    alone.push_back(seconds[0]);
    for (int k = 0; k < 2; ++k) ratios[k].push_back(seconds[k + 1] / seconds[0]);
  }
  fmt::print("width {:>4}, {:>5} points: {:8.3f} ms; 16 shards {:+.1f} %, on one rank {:+.1f} %\n", width,
             points, 1e3 * median(alone), 100 * (median(ratios[0]) - 1), 100 * (median(ratios[1]) - 1));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 40;
  const auto rank = parallel::fork_ranks(1);
  measure(128, 8192, rounds, rank.get());
  measure(64, 4096, 5 * rounds, rank.get());
  measure(64, 1024, 20 * rounds, rank.get());
}
