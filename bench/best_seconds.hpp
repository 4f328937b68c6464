#pragma once
// How benchmarks on the CPU take their times.

#include <algorithm>

#include "lather/core/clock.hpp"

namespace lather::bench {

// The best of several runs after one that warms up: some fall into quiet moments of a shared machine.
template <class F>
double best_seconds(int repeats, const F& f) {
  f();
  double best = 1e9;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Stopwatch watch;
    f();
    best = std::min(best, watch.seconds());
  }
  return best;
}

}  // namespace lather::bench
