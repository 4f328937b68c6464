#pragma once
// Files of a run folder that another process writes: they may be missing, damaged or half written.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace lather::watch {

// "size.seconds.nanoseconds" of the last change, "-" without a file: changes when the content does.
std::string stamp_of(const std::filesystem::path& file);

// The JSON object in a file; null if there is none, or nothing that can be read: then an empty `note` says why.
nlohmann::json json_or_null(const std::filesystem::path& file, std::string& note);

// A line of timing.csv; nothing for its header.
struct Moment {
  double step = 0, seconds = 0;
};
std::optional<Moment> moment_of(const std::string& line);

}  // namespace lather::watch
