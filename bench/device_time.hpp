#pragma once
// Shared by the benchmarks of matrices on the GPU.

#include <algorithm>
#include <span>
#include <vector>

#include "lather/core/clock.hpp"
#include "lather/core/cuda/runtime.hpp"
#include "lather/core/rng.hpp"

namespace lather::bench {

inline int repeats_for(int columns) { return columns > 20000 ? 1 : columns > 10000 ? 3 : 9; }

// Median milliseconds of f, after as many warm-up calls, at most two; the device is idle before and after.
template <class F>
double milliseconds(int repeats, const F& f) {
  std::vector<double> times;
  for (int repeat = -std::min(2, repeats); repeat < repeats; ++repeat) {
    cuda::check(cudaDeviceSynchronize());
    const Stopwatch watch;
    f();
    cuda::check(cudaDeviceSynchronize());
    if (repeat >= 0) times.push_back(1e3 * watch.seconds());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// The same numbers over and over, shifted by some columns in every row: drawing 10^9 of them would take
// longer than everything else.
inline cuda::Memory<double> random_rows(int rows, std::size_t stride) {
  std::vector<double> drawn(1048583);
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = Random(1, 2).uniform(i) - 0.5;
  cuda::Memory<double> J(static_cast<std::size_t>(rows) * stride);
  for (std::size_t at = 0; at < J.size(); at += drawn.size())
    J.upload(std::span(drawn).first(std::min(drawn.size(), J.size() - at)), at);
  return J;
}

}  // namespace lather::bench
