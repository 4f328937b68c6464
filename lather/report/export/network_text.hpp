#pragma once
// A trained network written out as data: what to compute, in assignments that Python's `eval` understands.
// Everything another program needs to read it, with no knowledge of Lather's architectures;
// examples/load_export.py is such a program.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/pde/objective.hpp"

namespace lather::report {

// {"inputs": …, "operations": […], "fields": …}; `tensors` in it are names of blocks of the layout (frozen
// ones prefixed with "frozen.").
nlohmann::json describe_network(const pde::PinnObjective& objective);

// Expressions as {"let": [["v0", "sin(x)"], …], "values": ["v3", …]}: shared parts are computed once. `names`
// has every symbol.
nlohmann::json assignments(std::span<const symbolic::Expr> expressions,
                           const symbolic::ExprMap<std::string>& names);

}  // namespace lather::report
