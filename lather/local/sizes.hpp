#pragma once
// How large the outputs of a problem are, as far as its text tells: what conditions prescribe, and what the
// equations then need to balance. Only ratios matter, so fields of different units can stand in one row.

#include <vector>

#include "lather/local/equations.hpp"

namespace lather::local {

std::vector<double> sizes_of_outputs(const Equations& equations);

}  // namespace lather::local
