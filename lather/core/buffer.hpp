#pragma once
// Memory for kernels: aligned to a cache line, zeroed, movable.

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace lather {

inline constexpr std::size_t kCacheLine = 64;

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size)
      : data_(static_cast<T*>(::operator new[](size * sizeof(T), std::align_val_t(kCacheLine)))),
        size_(size) {
    zero();
  }
  void zero() {
    if (size_ > 0) std::memset(static_cast<void*>(data_.get()), 0, size_ * sizeof(T));
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  operator std::span<T>() { return {data_.get(), size_}; }
  operator std::span<const T>() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t(kCacheLine)); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace lather
