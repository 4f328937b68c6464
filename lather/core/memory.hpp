#pragma once
// Memory of this machine and of this process.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "lather/core/error.hpp"

namespace lather {

// There is not, or may not be, enough memory for what was asked.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// It would take more than a limit that does not depend on what else is running.
class MemoryLimitExceeded : public OutOfMemory {
 public:
  using OutOfMemory::OutOfMemory;
};

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// "1.2 GiB", in the unit that leaves one to three digits before the point.
std::string readable_bytes(double bytes);

double physical_memory_bytes();
// What this process may still allocate, and what sets that limit: the memory that is free on this machine, the
// control group (container) that the process is in, or its limit of address space.
struct MemoryRoom {
  double bytes = 0;
  std::string limit;  // "free on this machine", …
};
MemoryRoom memory_room();
double available_memory_bytes();  // the same number
// What control groups leave, versions 1 and 2: `membership` is the text of /proc/PID/cgroup, `mounted` where
// their files are. Nothing if they set no limit.
std::optional<double> room_in_control_groups(const std::string& membership,
                                             const std::filesystem::path& mounted);
// The most this process has held at one time so far, as the system counts it.
std::size_t peak_host_memory_bytes();
// The most this process has allocated on the GPU at one time so far, not counting what libraries keep for
// themselves; 0 if no GPU is used.
std::size_t peak_device_memory_bytes();
// To be called for every allocation on the GPU and, with a negative number, when it is freed.
void count_device_memory(std::ptrdiff_t bytes);

}  // namespace lather
