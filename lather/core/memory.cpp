#include "lather/core/memory.hpp"
#include "lather/core/peak_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace lather {

namespace {
std::atomic<std::ptrdiff_t> device_bytes = 0, most_device_bytes = 0;

// The number in a file; negative: there is none.
double number_in(const char* path) {
  double value = -1;
  return std::ifstream(path) >> value ? value : -1;
}
}  // namespace

double physical_memory_bytes() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

double available_memory_bytes() {
  double bytes = physical_memory_bytes();
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) bytes = 1024 * std::stod(line.substr(13));
  const double limit = number_in("/sys/fs/cgroup/memory.max"),
               used = number_in("/sys/fs/cgroup/memory.current");
  return limit > 0 && used >= 0 ? std::min(bytes, std::max(0.0, limit - used)) : bytes;
}

std::size_t peak_host_memory_bytes() {
  // Unlike the system's ru_maxrss, this one can be reset.
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:")) return 1024 * static_cast<std::size_t>(std::stod(line.substr(6)));
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

std::size_t peak_device_memory_bytes() { return static_cast<std::size_t>(most_device_bytes.load()); }

void use_one_heap() {
#ifdef __GLIBC__
  ::mallopt(M_ARENA_MAX, 1);
#endif
}

void forget_peak_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << 5;  // if that is not allowed, the old peak stays
  most_device_bytes = device_bytes.load();
}

void count_device_memory(std::ptrdiff_t bytes) {
  const std::ptrdiff_t now = device_bytes += bytes;
  std::ptrdiff_t most = most_device_bytes;
  while (now > most && !most_device_bytes.compare_exchange_weak(most, now)) {
  }
}

}  // namespace lather
