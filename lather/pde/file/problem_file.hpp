#pragma once
// Problems as text files: docs/problem-files.md is the manual.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lather/core/formats/toml.hpp"
#include "lather/core/options.hpp"
#include "lather/pde/problem.hpp"

namespace lather::pde {

// A change to a file before it is read: {"parameters.nu", "0.02"}, {"network.width", "256"},
// {"equation.momentum.weight", "10"}.
struct Override {
  std::string path, value;
  SourceLocation where = {};  // in a file, if it comes from one; else errors name it as an option
  void fields(FieldVisitor& v) {
    v.text("path", path, "what is changed");
    v.text("value", value, "to which value");
  }
  SourceLocation place() const { return where.file.empty() ? place_of_setting(path, value) : where; }
};

// Throws Error with file, line and column for whatever is wrong with the file.
Problem read_problem_file(const std::filesystem::path& path, const std::vector<Override>& overrides = {});
// `file_name` appears in errors; data files are looked for next to it.
Problem read_problem_text(std::string_view text, const std::string& file_name,
                          const std::vector<Override>& overrides = {});

// The same for a file that is already parsed; `folder` is where its data files are
// looked for. Its [training] is left to train/recipe.hpp. A run keeps its data files
// in a folder of its own, named after their [[data]]: `kept_data`, unless empty.
Problem read_problem(const TomlValue& root, const std::filesystem::path& folder,
                     const std::filesystem::path& kept_data = {});

}  // namespace lather::pde
