#include "lather/watch/run_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lather/train/run_folder/run_folder.hpp"

namespace lather::watch {

std::string stamp_of(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return "-";
  return fmt::format("{}.{}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

nlohmann::json json_or_null(const std::filesystem::path& file) {
  try {
    if (!std::filesystem::exists(file)) return nullptr;
    nlohmann::json json = train::read_json(file);
    return json.is_object() ? json : nlohmann::json(nullptr);
  } catch (const std::exception&) {
    return nullptr;
  }
}

std::optional<Moment> moment_of(const std::string& line) {
  char* end = nullptr;
  const double step = std::strtod(line.c_str(), &end);
  if (end == line.c_str() || *end != ',') return std::nullopt;
  return Moment{step, std::strtod(end + 1, nullptr)};
}

}  // namespace lather::watch
