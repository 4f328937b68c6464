#pragma once
// Memory for arguments, as long as the contract asks for and no longer: it ends (or begins) at a
// page that nobody may touch, so that an access one element too far ends the program, with or
// without sanitizers.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace lather::hostile {

class GuardedMemory {
 public:
  GuardedMemory() : first_(reserve((kPlaces * (kSize + kGuard)) + kGuard)) {
    for (std::size_t i = 0; i < kPlaces; ++i) open(place(i), kSize);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  ~GuardedMemory() {
    clear();
    ::munmap(first_, kPlaces * (kSize + kGuard) + kGuard);
  }
  // Valid until clear(). Addresses are multiples of 8.
  void* take(std::size_t bytes, bool guard_before) {
    const std::size_t size = (bytes + 7) / 8 * 8;
    if (used_ < kPlaces && size <= kSize) {
      char* begin = place(used_++);
      return guard_before ? begin : begin + kSize - size;
    }
    const std::size_t pages = (size + kGuard - 1) / kGuard * kGuard;
    char* begin = reserve(pages + 2 * kGuard);
    large_.push_back({begin, pages + 2 * kGuard});
    open(begin + kGuard, pages);
    return guard_before ? begin + kGuard : begin + kGuard + pages - size;
  }
  void clear() {
    used_ = 0;
    for (const auto& [begin, size] : large_) ::munmap(begin, size);
    large_.clear();
  }

 private:
  static constexpr std::size_t kPlaces = 24, kSize = 8192, kGuard = 4096;
  struct Large {
    char* begin;
    std::size_t size;
  };

  static char* reserve(std::size_t size) {
    void* begin = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) std::abort();
    return static_cast<char*>(begin);
  }
  static void open(char* begin, std::size_t size) {
    if (::mprotect(begin, size, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  char* place(std::size_t i) { return first_ + kGuard + i * (kSize + kGuard); }

  char* first_;
  std::size_t used_ = 0;
  std::vector<Large> large_;
};

}  // namespace lather::hostile
