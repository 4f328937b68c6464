#pragma once
// How CPU benchmarks measure time.

#include <algorithm>

#include "lather/core/clock.hpp"

namespace lather::bench {

// The best of several runs after a warm-up run: some fall into quiet moments of a shared machine.
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
