// A request for more memory than a fuzzer should have fails as on a machine that has no more: by
// std::bad_alloc, which AddressSanitizer's own operator new never throws. All forms are replaced,
// so that they fit together.
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;

void* limited(std::size_t size, std::align_val_t alignment) noexcept {
  if (size > kMost) return nullptr;
  const auto step = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(step, (size + step) / step * step);
}
void* limited(std::size_t size) noexcept { return size > kMost ? nullptr : std::malloc(size ? size : 1); }
void* required(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return required(limited(size)); }
void* operator new[](std::size_t size) { return required(limited(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return required(limited(size, alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return required(limited(size, alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return limited(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return limited(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
