#include <algorithm>
#include <cstdlib>

#include "lather/core/error.hpp"
#include "lather/experiment/experiment.hpp"

namespace lather::experiment {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> experiment_folders() {
  std::vector<fs::path> folders;
  if (const char* folder = std::getenv("LATHER_EXPERIMENTS"); folder && *folder) folders.emplace_back(folder);
  folders.emplace_back(LATHER_EXPERIMENT_DIR);
  folders.emplace_back(LATHER_INSTALLED_EXPERIMENT_DIR);
  return folders;
}

}  // namespace

std::vector<std::string> list_experiments() {
  std::vector<std::string> names;
  for (const auto& folder : experiment_folders()) {
    std::error_code status;
    for (const auto& entry : fs::directory_iterator(folder, status))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

fs::path find_experiment(const std::string& name_or_path) {
  std::error_code status;
  if (fs::is_regular_file(name_or_path, status)) return name_or_path;
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml"))
    throw Error("there is no file '" + name_or_path + "'");
  for (const auto& folder : experiment_folders())
    if (fs::path path = folder / (name_or_path + ".toml"); fs::is_regular_file(path, status)) return path;
  throw Error(unknown_name_message("experiment", name_or_path, list_experiments()));
}

}  // namespace lather::experiment
