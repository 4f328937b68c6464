#pragma once
// What the readers of a problem file share: its sections and lists of tables, numbers that may be
// expressions of parameters, and warnings about kinks.

#include <string>
#include <string_view>
#include <vector>

#include "lather/core/formats/toml.hpp"
#include "lather/pde/problem_builder.hpp"

namespace lather::pde {

// Like TomlValue::only_keys. Misplacing a key that belongs above the first [section] is the most common
// mistake in TOML: the error says so.
void only_problem_keys(const TomlValue& table, std::string_view what, const std::vector<std::string>& known);

// The section [name]; an empty table if there is none.
const TomlValue& problem_section(const TomlValue& root, const std::string& name);

// The tables of [[name]].
const std::vector<TomlValue>& problem_tables(const TomlValue& root, const std::string& name);

// A number, or an expression of parameters in quotes.
double read_number(const TomlValue& value, const std::string& what, ProblemBuilder& builder);

// Warns about derivatives of functions with a kink or a jump that were taken since the last call.
void note_kinks(ProblemBuilder& builder, const SourceLocation& where);

}  // namespace lather::pde
