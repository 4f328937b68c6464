#include "lather/parallel/in_turn.hpp"

#include <algorithm>
#include <thread>

namespace lather::parallel {

int threads_of(const Communicator* ranks) {
  const int cores = available_cores();
  const bool bound = cores < static_cast<int>(std::thread::hardware_concurrency());
  if (!ranks || bound) return cores;
  return std::max(1, cores / ranks->local_size());
}

}  // namespace lather::parallel
