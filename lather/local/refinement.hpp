#pragma once
// Where a solution is not good enough yet, and how its boxes are to be halved.

#include <vector>

#include "lather/core/threads.hpp"
#include "lather/local/rows.hpp"
#include "lather/local/solution.hpp"

namespace lather::local {

// The solution on one patch as a state.
State state_on(const Solution& solution, int node);

// By patch: the largest root mean square of what is left of equations, conditions and jumps at other points
// than those where they were solved, each over the size of its row.
std::vector<double> left_over(const Equations& equations, const RowBuilder& rows,
                              const std::vector<const Patch*>& patches, const Solution& solution,
                              ThreadTeam& team);

// Bit k: along coordinate k, whose last coefficients are among the largest of the last coefficients.
unsigned directions_to_halve(const Solution& solution, int node, const std::vector<double>& sizes);

}  // namespace lather::local
