#pragma once
// Computed references on disk. A file is: 8 bytes magic, 8 bytes length of the header, 8 bytes length of the
// payload, 8 bytes checksum of header and payload, the header (JSON: name, version of the solver, settings),
// the payload (see core/state.hpp).

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "lather/core/cache_folder.hpp"
#include "lather/core/state.hpp"

namespace lather::reference {

struct CacheKey {
  std::string name;
  int version = 1;       // of the solver: increase it when the same settings give different numbers
  std::string settings;  // JSON text
};

std::string cache_file(const CacheKey& key);  // its name in the cache folder

// The payload, or nothing, with the reason in `why`: no such file, damaged, or made for something else.
std::optional<std::string> read_cache(const CacheFolder& folder, const CacheKey& key, std::string& why);

// Throws Error if the file cannot be written.
void write_cache(const CacheFolder& folder, const CacheKey& key, const std::string& payload);

// Reads the state from the cache, or computes it and saves it there; returns the provenance in words. `visit`
// names the state, `compute` makes it. A folder that cannot be used is not an error: the provenance says why.
std::string load_or_compute(const std::filesystem::path& directory, const CacheKey& key,
                            const std::function<void(StateVisitor&)>& visit,
                            const std::function<void()>& compute);

}  // namespace lather::reference
