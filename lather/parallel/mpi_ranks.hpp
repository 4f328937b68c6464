#pragma once
// Ranks started by mpirun or srun. The MPI functions are in a separate module (lather_mpi.so, from
// parallel/mpi), which is loaded only in a process that a launcher has started: the command and the libraries
// need no MPI, and a module built for another MPI can be put in its place.

#include <string>

#include "lather/parallel/communicator.hpp"

namespace lather::parallel {

// Whether an MPI launcher started this process, and as which rank of how many, from its environment.
struct Launch {
  bool by_mpi = false;
  int rank = 0, size = 1;
};
Launch find_launch();

// Throws Error if the module is missing or does not load.
std::unique_ptr<Communicator> join_mpi();

// "Open MPI v4.1.4 …", or why there is none.
std::string mpi_report();

}  // namespace lather::parallel
