#pragma once
// Ranks on one machine without any launcher: the process forks, and sockets join every two of the ranks.

#include "lather/parallel/communicator.hpp"

namespace lather::parallel {

// Returns in `ranks` processes, in the calling one as rank 0. To be called before threads are started. Throws
// Error where the system refuses.
std::unique_ptr<Communicator> fork_ranks(int ranks);

}  // namespace lather::parallel
