#pragma once
// Problems by name. They are looked for in the folders of $LATHER_PROBLEMS (separated by colons), in the
// source tree this library was built from, and where it was installed, in this order.

#include <filesystem>
#include <string>
#include <vector>

namespace lather::pde {

// The file of a problem given by path or by name. Throws Error with the nearest name.
std::filesystem::path find_problem(const std::string& name_or_path);

// Names of all problems that are found, sorted, each once.
std::vector<std::string> list_problems();

}  // namespace lather::pde
