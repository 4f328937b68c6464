#pragma once
// [network] of a problem file: options of the network and what it is fed.

#include "lather/core/formats/toml.hpp"
#include "lather/pde/problem_builder.hpp"

namespace lather::pde {

// `root` is the whole file. Coordinates, fields and `periodic` have been read.
void read_network(const TomlValue& root, ProblemBuilder& builder);

}  // namespace lather::pde
