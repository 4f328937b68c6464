#pragma once
// Files that a user may name without their folder and extension: bundled problems, experiments.

#include <filesystem>
#include <string>
#include <vector>

namespace lather {

struct NamedFiles {
  std::string kind;      // "problem", for messages
  std::string file;      // "a problem file", likewise
  const char* variable;  // of the environment: folders to look in first, separated by colons
  std::vector<std::filesystem::path> folders;

  std::vector<std::string> names() const;  // sorted
  // A path, or a name among those. Throws Error naming the nearest.
  std::filesystem::path find(const std::string& name_or_path) const;

 private:
  std::vector<std::filesystem::path> all_folders() const;
};

}  // namespace lather
