#pragma once
// Where the bundled experiments are: in the source tree the command was built from, or where it was
// installed.

#include <filesystem>

namespace lather::command {

std::filesystem::path experiment_folder();

}  // namespace lather::command
