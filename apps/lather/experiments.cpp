#include "experiments.hpp"

#include <system_error>

namespace lather::command {

std::filesystem::path experiment_folder() {
  std::error_code status;
  std::filesystem::path in_the_source_tree = LATHER_EXPERIMENT_DIR;
  if (std::filesystem::is_directory(in_the_source_tree, status)) return in_the_source_tree;
  return LATHER_INSTALLED_EXPERIMENT_DIR;
}

}  // namespace lather::command
