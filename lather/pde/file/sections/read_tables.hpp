#pragma once
// [table]: coefficients whose values on a grid are in a file.

#include <filesystem>

#include "lather/pde/problem_builder.hpp"

namespace lather::pde {

// `folder`: where files are looked for; `kept_files`, unless empty: where a run has kept its copies.
void read_tables(const TomlValue& root, const std::filesystem::path& folder,
                 const std::filesystem::path& kept_files, ProblemBuilder& builder);

}  // namespace lather::pde
