#pragma once
// Rank 0 before the others: for what may fail through a user mistake, so that there is one message, and for
// files that rank 0 writes and the others then find.

#include "lather/parallel/communicator.hpp"

namespace lather::parallel {

// Calls f() on rank 0, then on the others. If rank 0 throws, the others see it end and end too. f must not
// communicate with other ranks.
template <class F>
auto first_rank_first(Communicator* ranks, const F& f) {
  if (!ranks || ranks->alone()) return f();
  const auto wait = [&] { with_ranks(ranks, [&] { ranks->barrier(); }); };
  if (ranks->rank() != 0) wait();
  auto result = f();
  if (ranks->rank() == 0) wait();
  return result;
}

// Threads available to a rank: the cores it is bound to, or its share of those that all ranks of a machine
// may use.
int threads_of(const Communicator* ranks);

}  // namespace lather::parallel
