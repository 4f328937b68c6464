#pragma once
// The ranks of this command: started by mpirun or srun, or by itself (--ranks).

#include <CLI/CLI.hpp>

#include "lather/parallel/communicator.hpp"

namespace lather::command {

void add_ranks_option(CLI::App& command, int& ranks, const char* help);

// Joins the others; null: there are none. Ranks other than the first say nothing from now on.
parallel::Communicator* join_ranks(int requested);

// Whether this process is the one that speaks: also before it has joined, by what its launcher says.
bool speaks();

// Reports a failure (empty: there was none), once, and ends the ranks; the exit status of the process.
int end_ranks(const std::string& failure, int exit_status);
// Of a rank other than the first, when another has gone: the first one says so.
int give_up();

}  // namespace lather::command
