#pragma once
// Computed references on disk. A file is: 8 bytes magic, 8 bytes length of the header, 8 bytes length of the
// payload, 8 bytes checksum of header and payload, the header (JSON: name, version of the solver, settings),
// the payload (see core/state.hpp). It is written under a temporary name in the same folder, flushed to disk
// and renamed, so a reader never sees a partial file.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "lather/core/state.hpp"

namespace lather::reference {

struct CacheKey {
  std::string name;
  int version = 1;       // of the solver: increase it when the same settings give different numbers
  std::string settings;  // JSON text
};

std::filesystem::path cache_file(const std::filesystem::path& directory, const CacheKey& key);

// The payload, or nothing, with the reason in `why`: no such file, damaged, or made for something else.
std::optional<std::string> read_cache(const std::filesystem::path& file, const CacheKey& key,
                                      std::string& why);

// Throws Error if the file cannot be written.
void write_cache(const std::filesystem::path& file, const CacheKey& key, const std::string& payload);

// Reads the state from the cache, or computes it and saves it there; returns the provenance in words. `visit`
// names the state, `compute` makes it. An unwritable folder is not an error: the provenance says so.
std::string load_or_compute(const std::filesystem::path& directory, const CacheKey& key,
                            const std::function<void(StateVisitor&)>& visit,
                            const std::function<void()>& compute);

}  // namespace lather::reference
