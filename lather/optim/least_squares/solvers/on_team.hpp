#pragma once
// f(0) … f(tasks - 1) on the threads of a team, or on this thread. What a task computes does not depend on
// the number of threads.

#include <cstddef>

#include "lather/core/threads.hpp"

namespace lather::optim {

template <class F>
void on_team(ThreadTeam* team, std::size_t tasks, const F& f) {
  if (!team) {
    for (std::size_t t = 0; t < tasks; ++t) f(t);
    return;
  }
  const auto threads = static_cast<std::size_t>(team->size());
  team->run([&](int thread) {
    for (auto t = static_cast<std::size_t>(thread); t < tasks; t += threads) f(t);
  });
}

}  // namespace lather::optim
