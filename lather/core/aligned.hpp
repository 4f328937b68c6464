#pragma once
// Vectors that start on a cache line. Vectorized sums start where the memory is aligned, so their last bits
// depend on the address; on a cache line they are the same in every run.

#include <cstddef>
#include <new>
#include <vector>

#include "lather/core/buffer.hpp"

namespace lather {

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(kCacheLine)));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(kCacheLine)); }
  template <class U>
  bool operator==(const CacheLineAllocator<U>&) const {
    return true;
  }
};

using AlignedVector = std::vector<double, CacheLineAllocator<double>>;

}  // namespace lather
