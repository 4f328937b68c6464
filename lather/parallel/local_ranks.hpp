#pragma once
// Ranks on one machine without a launcher: the process forks, and sockets connect every pair of ranks.

#include "lather/parallel/communicator.hpp"

namespace lather::parallel {

// Returns in `ranks` processes, in the calling one as rank 0. To be called before threads are started. Throws
// Error if the system refuses.
std::unique_ptr<Communicator> fork_ranks(int ranks);

}  // namespace lather::parallel
