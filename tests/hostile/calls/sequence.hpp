#pragma once
// A sequence: some calls, drawn from its seed. Each has a seed of its own, so that calls can be
// left out and the others stay.

#include <atomic>
#include <cstdint>
#include <vector>

namespace lather::hostile {

// What another process sees of the one at work.
struct Watched {
  std::atomic<std::uint64_t> sequence, calls, done;
  std::atomic<std::int64_t> call, since_ms;  // the call at work, and when it began; call < 0: none
  std::atomic<int> found[3];                 // crashes, hangs, wrong answers
};

struct Planned {
  std::size_t entry;
  std::uint64_t seed;
  bool with_company;  // another thread calls at the same time
};
std::vector<Planned> plan(std::uint64_t sequence);
// Only these calls, if there are any; told: each is printed before it is made.
void play(std::uint64_t sequence, const std::vector<std::size_t>& only, bool told, Watched* watched);

std::int64_t now_ms();

}  // namespace lather::hostile
