#pragma once
// The folder in which Lather keeps what it can compute again: reference solutions, compiled kernels. What lies there is
// believed, so the folder must be the user's own (or root's): one that others can write into is not used.

#include <filesystem>
#include <string>
#include <string_view>

#include "lather/core/files.hpp"

namespace lather {

// $LATHER_CACHE, $XDG_CACHE_HOME/lather, or ~/.cache/lather; empty: the user has no home.
std::filesystem::path default_cache_folder();

class CacheFolder {
 public:
  // Opened, or created for this user alone. Throws Error if it cannot be, or belongs to somebody else.
  explicit CacheFolder(const std::filesystem::path& path);

  // Names are looked up in this very folder, whatever its path leads to by then.
  bool holds(const std::string& name) const;
  std::string read(const std::string& name) const;  // throws Error
  void write(const std::string& name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
  Descriptor folder_;
};

}  // namespace lather
