#include "lather/core/named_files.hpp"

#include <algorithm>
#include <cstdlib>

#include "lather/core/error.hpp"

namespace lather {

namespace fs = std::filesystem;

std::vector<fs::path> NamedFiles::all_folders() const {
  std::vector<fs::path> all;
  if (const char* value = std::getenv(variable)) {
    const std::string list = value;
    for (std::size_t start = 0; start <= list.size();) {
      const std::size_t end = std::min(list.find(':', start), list.size());
      if (end > start) all.emplace_back(list.substr(start, end - start));
      start = end + 1;
    }
  }
  all.insert(all.end(), folders.begin(), folders.end());
  return all;
}

std::vector<std::string> NamedFiles::names() const {
  std::vector<std::string> names;
  for (const auto& folder : all_folders()) {
    std::error_code status;
    for (const auto& entry : fs::directory_iterator(folder, status))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

fs::path NamedFiles::find(const std::string& name_or_path) const {
  std::error_code status;
  if (fs::is_directory(name_or_path, status)) throw Error("'" + name_or_path + "' is a folder, not " + file);
  if (fs::exists(name_or_path, status)) return name_or_path;  // also a FIFO: lather train <(generate)
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml");
  if (is_path) throw Error("there is no file '" + name_or_path + "'");
  for (const auto& folder : all_folders())
    if (fs::path path = folder / (name_or_path + ".toml"); fs::is_regular_file(path, status)) return path;
  throw Error(unknown_name_message(kind, name_or_path, names()));
}

}  // namespace lather
