#pragma once
// Problems as text files: docs/problem-files.md is the manual.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lather/pde/problem.hpp"

namespace lather::pde {

// A change to a file before it is read: {"parameters.nu", "0.02"}, {"network.width", "256"},
// {"equation.momentum.weight", "10"}.
struct Override {
  std::string path, value;
};

// Throws Error with file, line and column for whatever is wrong with the file.
Problem read_problem_file(const std::filesystem::path& path, const std::vector<Override>& overrides = {});
// `file_name` appears in errors; data files are looked for beside it.
Problem read_problem_text(std::string_view text, const std::string& file_name,
                          const std::vector<Override>& overrides = {});

// What a recipe such as [training.quick] changes in the rest of the file: its `network` and `parameters`
// tables. Read the file again with these to get the problem of that size. Throws Error, naming the nearest,
// if there is no such recipe.
std::vector<Override> recipe_overrides(const Problem& problem, const std::string& recipe);

}  // namespace lather::pde
