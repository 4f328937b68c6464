#pragma once
// The terms of the loss in a problem file: [[equation]], [[condition]], [[integral]] and [[data]].

#include <filesystem>

#include "lather/core/formats/toml.hpp"
#include "lather/pde/problem_builder.hpp"

namespace lather::pde {

// `root` is the whole file. `folder`: where data files are looked for; `kept_data`, unless empty: where a run
// keeps its own, by the names of their [[data]].
void read_terms(const TomlValue& root, const std::filesystem::path& folder,
                const std::filesystem::path& kept_data, ProblemBuilder& builder);

}  // namespace lather::pde
