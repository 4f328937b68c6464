#pragma once
// CUDA source text to kernels, through NVRTC. Compiled code is kept on disk ($LATHER_CACHE, else $XDG_CACHE_HOME/lather, else
// ~/.cache/lather) under a hash of source, architecture and compiler version.

#include <string>
#include <vector>

#include "lather/core/cuda.hpp"

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

 private:
  cudaLibrary_t library_ = nullptr;
};

struct Launch {
  dim3 grid, block;
};

// One parameter: a structure passed by value, laid out as the kernel declares it.
void launch(cudaKernel_t kernel, const Launch& shape, const void* parameter, cudaStream_t stream);

}  // namespace lather::cuda
