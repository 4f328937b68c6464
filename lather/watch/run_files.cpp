#include "lather/watch/run_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lather/core/files.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::watch {

std::string stamp_of(const std::filesystem::path& file) {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "-";
  return fmt::format("{}.{}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

nlohmann::json json_or_null(const std::filesystem::path& file, std::string& note) {
  constexpr std::uint64_t kMostBytes = 16 << 20;  // it is sent to every viewer
  if (!is_there(file)) return nullptr;
  std::string why = fmt::format("'{}' holds no object", file.string());
  try {
    nlohmann::json json = train::read_json(file, kMostBytes);
    if (json.is_object()) return json;
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (note.empty()) note = why;
  return nullptr;
}

std::optional<Moment> moment_of(const std::string& line) {
  char* end = nullptr;
  const double step = std::strtod(line.c_str(), &end);
  if (end == line.c_str() || *end != ',') return std::nullopt;
  return Moment{step, std::strtod(end + 1, nullptr)};
}

}  // namespace lather::watch
