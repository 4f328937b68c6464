#pragma once
// From CUDA source text to kernels, with NVRTC. The source may include the embedded files (kernel_files.hpp).
// Compiled code is kept in the cache folder (core/cache_folder.hpp) under a hash of source, included files,
// architecture and compiler version.

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "lather/core/cuda/runtime.hpp"

namespace lather::cuda {

// Machine code for `architecture` ("sm_90"). Needs no GPU. Throws Error with the compiler's log.
std::string compile(const std::string& source, const std::string& architecture);

class KernelModule {
 public:
  explicit KernelModule(const std::string& source);  // for the GPU in use
  ~KernelModule();
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;
  cudaKernel_t kernel(const std::string& name) const;
  // Fills a variable of the source, declared extern "C", from its beginning.
  template <class T>
  void set(const std::string& name, std::span<const T> values) {
    set_bytes(name, std::as_bytes(values));
  }

 private:
  void set_bytes(const std::string& name, std::span<const std::byte> bytes);
  cudaLibrary_t library_ = nullptr;
};

struct Launch {
  dim3 grid, block;
};

// A kernel's one parameter: a structure passed by value, filled piece by piece as the kernel declares it.
class Parameter {
 public:
  template <class T>
  Parameter& add(std::span<const T> values) {
    if (size_ + values.size_bytes() > sizeof bytes_) throw_too_large();
    std::memcpy(bytes_ + size_, values.data(), values.size_bytes());
    size_ += values.size_bytes();
    return *this;
  }
  template <class T>
  Parameter& add(const T& value) {
    return add(std::span<const T>(&value, 1));
  }
  const void* data() const { return bytes_; }

 private:
  [[noreturn]] static void throw_too_large();
  alignas(16) std::byte bytes_[4096] = {};  // the most a kernel takes
  std::size_t size_ = 0;
};

void launch(cudaKernel_t kernel, const Launch& shape, const Parameter& parameter, cudaStream_t stream);

}  // namespace lather::cuda
