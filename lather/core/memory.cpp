#include "lather/core/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>

namespace lather {

namespace {
std::atomic<std::ptrdiff_t> device_bytes = 0, most_device_bytes = 0;

// The number in a file; nothing if there is none ("max").
std::optional<double> number_in(const std::filesystem::path& path) {
  double value = 0;
  std::ifstream file(path);
  return file >> value ? std::optional(value) : std::nullopt;
}

// The number after a word at the beginning of a line; 0 if there is none.
double number_after(const std::filesystem::path& path, std::string_view word) {
  std::ifstream file(path);
  std::string name;
  for (double value = 0; file >> name;) {
    if (name == word && file >> value) return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

void lower(std::optional<double>& least, std::optional<double> value) {
  if (value && (!least || *value < *least)) least = value;
}

// Of one group; pages of files that nobody uses are given back when memory is needed.
std::optional<double> room_in(const std::filesystem::path& group, const char* limit, const char* used,
                              const char* unused_files) {
  const auto most = number_in(group / limit), now = number_in(group / used);
  // Version 1 writes "no limit" as a huge number.
  if (!most || !now || *most > 1e18) return {};
  return std::max(0.0, *most - *now + number_after(group / "memory.stat", unused_files));
}

// What the limit of address space leaves; nothing if there is none.
std::optional<double> room_in_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const double pages = number_in("/proc/self/statm").value_or(0);
  return std::max(
      0.0, static_cast<double>(limit.rlim_cur) - pages * static_cast<double>(::sysconf(_SC_PAGE_SIZE)));
}
}  // namespace

std::string readable_bytes(double bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  // 1023.6 MiB would be printed as 1024 MiB.
  while (bytes >= 1023.5 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 9.95 && unit > 0 ? 1 : 0, units[unit]);
}

double physical_memory_bytes() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

// A group's limit holds for all groups in it. Inside a container the path of the outside may not exist; the
// files are then those of the mount itself.
std::optional<double> room_in_control_groups(const std::string& membership,
                                             const std::filesystem::path& mounted) {
  std::optional<double> least;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {  // number:controllers:/path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers != "memory") continue;
    const auto root = unified ? mounted : mounted / "memory";
    for (std::filesystem::path path = line.substr(second + 1);; path = path.parent_path()) {
      const auto group = root / path.relative_path();
      lower(least, unified ? room_in(group, "memory.max", "memory.current", "inactive_file")
                           : room_in(group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                     "total_inactive_file"));
      if (!path.has_relative_path()) break;
    }
  }
  return least;
}

MemoryRoom memory_room() {
  const double kib = number_after("/proc/meminfo", "MemAvailable:");
  MemoryRoom room{kib > 0 ? 1024 * kib : physical_memory_bytes(), "free on this machine"};
  std::ifstream file("/proc/self/cgroup");
  const std::string membership(std::istreambuf_iterator<char>(file), {});
  if (const auto left = room_in_control_groups(membership, "/sys/fs/cgroup"); left && *left < room.bytes)
    room = {*left, "left of what this container or control group may use"};
  if (const auto left = room_in_address_space(); left && *left < room.bytes)
    room = {*left, "left of the address space this process may use (ulimit -v)"};
  return room;
}

double available_memory_bytes() { return memory_room().bytes; }

std::size_t peak_host_memory_bytes() {
  // Unlike the system's ru_maxrss, this one can be reset from outside.
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:")) return 1024 * static_cast<std::size_t>(std::stod(line.substr(6)));
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

std::size_t peak_device_memory_bytes() { return static_cast<std::size_t>(most_device_bytes.load()); }

void count_device_memory(std::ptrdiff_t bytes) {
  const std::ptrdiff_t now = device_bytes += bytes;
  std::ptrdiff_t most = most_device_bytes;
  while (now > most && !most_device_bytes.compare_exchange_weak(most, now)) {
  }
}

}  // namespace lather
