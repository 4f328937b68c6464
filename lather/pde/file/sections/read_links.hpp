#pragma once
// Conditions that involve several places at once: [[integral]], and [[condition]] with the key `linked`.

#include "lather/core/formats/toml.hpp"
#include "lather/pde/problem_builder.hpp"

namespace lather::pde {

// [[integral]]: the integral of an expression over a part of space has a given value.
//   where = "boundary of inlet"   integrand = "u"   equals = 1   nodes = 24   times = 16
void read_integral(const TomlValue& table, const std::string& name, ProblemBuilder& builder);

// [[condition]] with linked = "x = 1": the residual is the same there and at `where`.
void read_linked(const TomlValue& table, const std::string& name, ProblemBuilder& builder);

}  // namespace lather::pde
