#include "lather/pde/file/find_problem.hpp"

#include <algorithm>
#include <cstdlib>

#include "lather/core/error.hpp"

namespace lather::pde {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> problem_folders() {
  std::vector<fs::path> folders;
  if (const char* variable = std::getenv("LATHER_PROBLEMS")) {
    const std::string list = variable;
    for (std::size_t start = 0; start <= list.size();) {
      const std::size_t end = std::min(list.find(':', start), list.size());
      if (end > start) folders.emplace_back(list.substr(start, end - start));
      start = end + 1;
    }
  }
  folders.emplace_back(LATHER_PROBLEM_DIR);
  folders.emplace_back(LATHER_INSTALLED_PROBLEM_DIR);
  return folders;
}

}  // namespace

std::vector<std::string> list_problems() {
  std::vector<std::string> names;
  for (const auto& folder : problem_folders()) {
    std::error_code status;
    for (const auto& entry : fs::directory_iterator(folder, status))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

fs::path find_problem(const std::string& name_or_path) {
  std::error_code status;
  if (fs::is_regular_file(name_or_path, status)) return name_or_path;
  if (fs::is_directory(name_or_path, status))
    throw Error("'" + name_or_path + "' is a folder, not a problem file");
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml");
  if (is_path) throw Error("there is no file '" + name_or_path + "'");
  for (const auto& folder : problem_folders())
    if (fs::path path = folder / (name_or_path + ".toml"); fs::is_regular_file(path, status)) return path;
  throw Error(unknown_name_message("problem", name_or_path, list_problems()));
}

}  // namespace lather::pde
