#pragma once
// lather train PROBLEM --optimizer local

#include <string>

#include "settings.hpp"

namespace lather::command {

// Solves by local polynomials into the folder `out` (empty: runs/PROBLEM-local-N), one line per round.
// Returns the exit status: 0: solved or doubtful; 3: not solved; 130: interrupted.
int train_local(const ConfigArguments& arguments, const std::string& out, const OutputMode& mode);

}  // namespace lather::command
