#pragma once
// The ranks of this command: started by mpirun or srun, or by the command itself (--ranks).

#include <CLI/CLI.hpp>

#include "lather/parallel/communicator.hpp"

namespace lather::command {

void add_ranks_option(CLI::App& command, int& ranks, const char* help);

// Joins the others; null: there are none. Ranks other than the first print nothing from now on.
parallel::Communicator* join_ranks(int requested);

// Whether this process is the one that prints; before it has joined, from what its launcher says.
bool speaks();

// Reports a failure (empty: there was none), once, and ends the ranks; returns the process's exit status.
int end_ranks(const std::string& failure, int exit_status);
// For a rank other than the first, when another has gone: the first one reports it.
int give_up();

}  // namespace lather::command
