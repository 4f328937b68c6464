#pragma once
// Memory of this machine and of this process.

#include <cstddef>

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

double physical_memory_bytes();
// What this process may still allocate; the limit of a container counts.
double available_memory_bytes();
// The most this process has held at one time so far, as the system counts it.
std::size_t peak_host_memory_bytes();
// The most this process has allocated on the GPU at one time so far, not counting what libraries keep for
// themselves; 0 if no GPU is used.
std::size_t peak_device_memory_bytes();
// To be called for every allocation on the GPU and, with a negative number, when it is freed.
void count_device_memory(std::ptrdiff_t bytes);

}  // namespace lather
