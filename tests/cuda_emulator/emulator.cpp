// A CUDA device made of one CPU thread, for tests on machines without a GPU: the part of the runtime, cuBLAS
// and NVRTC that Lather uses, linked in place of the real ones. Kernel source is compiled by the C++
// compiler; the threads of a block are fibers that take turns and meet at barriers. Slow, and blind to races
// and to what only hardware does; it checks that kernels, indices, sums and the order of work are right.
//
// This file: the CUDA runtime except streams, events and graphs (stream.cpp). thread_block.cpp runs kernels,
// compiler.cpp is NVRTC, blas.cpp cuBLAS, solver.cpp cuSOLVER, nccl.cpp NCCL.
#include "emulator.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lather/core/cuda/runtime.hpp"
#include "stream.hpp"
#include "thread_block.hpp"

namespace {
std::mutex allocations_mutex;
std::map<const void*, std::size_t> allocations;  // bytes by first address
}  // namespace

namespace lather::emulator {

bool is_allocated(const void* first, std::size_t bytes) {
  const std::lock_guard lock(allocations_mutex);
  auto found = allocations.upper_bound(first);
  if (found == allocations.begin()) return bytes == 0;
  --found;
  const std::size_t at = static_cast<const char*>(first) - static_cast<const char*>(found->first);
  return at + bytes <= found->second;
}

int devices = [] {
  const char* count = std::getenv("LATHER_EMULATED_GPUS");
  return count ? std::atoi(count) : 1;
}();
int device_in_use = 0;
}  // namespace lather::emulator

namespace {

using lather::emulator::enqueue, lather::emulator::Index, lather::emulator::Kernel;

struct Library {
  void* handle;
};
constexpr std::size_t kParameterBytes = 4096;  // of cuda::Parameter

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = lather::emulator::devices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  lather::emulator::device_in_use = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  std::memset(p, 0, sizeof *p);
  p->uuid.bytes[0] = static_cast<char>(device);
  std::strcpy(p->name, "emulated device");
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = lather::emulator::device_in_use;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;  // kernels are compiled for sm_90
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const char* bytes = std::getenv("LATHER_EMULATED_BYTES");
  *free = *total = bytes ? std::strtoull(bytes, nullptr, 10) : std::size_t(1) << 30;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "error of the emulated device"; }

cudaError_t cudaMalloc(void** p, std::size_t size) {
  if (!(*p = std::malloc(size))) return cudaErrorMemoryAllocation;
  const std::lock_guard lock(allocations_mutex);
  allocations[*p] = size;
  return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  lather::emulator::finish_all();
  {
    const std::lock_guard lock(allocations_mutex);
    allocations.erase(p);
  }
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, std::size_t size) { return cudaMalloc(p, size); }
cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
cudaError_t cudaMemset(void* p, int value, std::size_t size) {
  std::memset(p, value, size);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t size, cudaStream_t stream) {
  enqueue(stream, [=] { std::memset(p, value, size); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind) {
  ++lather::emulator::host_waits;
  std::memcpy(to, from, size);
  return cudaSuccess;
}
// Host memory that is not page-locked is read at once.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind,
                            cudaStream_t stream) {
  if (lather::emulator::is_allocated(from, size)) {
    enqueue(stream, [=] { std::memcpy(to, from, size); });
  } else {
    const auto* bytes = static_cast<const char*>(from);
    enqueue(stream, [to, copy = std::vector<char>(bytes, bytes + size)] {
      std::memcpy(to, copy.data(), copy.size());
    });
  }
  return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  // A copy for each: loaded twice, one would share its variables. Ranks are processes that load concurrently.
  static std::atomic<int> loaded = 0;
  const std::string path = std::string(static_cast<const char*>(code)),
                    copy = path + "." + std::to_string(::getpid()) + "." + std::to_string(++loaded);
  std::error_code failed;
  std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing, failed);
  if (failed) return cudaErrorInvalidValue;
  void* handle = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(copy, failed);
  if (!handle) return cudaErrorInvalidValue;
  *library = reinterpret_cast<cudaLibrary_t>(new Library{handle});
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  delete reinterpret_cast<Library*>(library);
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  static std::vector<std::unique_ptr<Kernel>> kernels;
  void* handle = reinterpret_cast<Library*>(library)->handle;
  const auto index = [&](const char* symbol) { return static_cast<Index*>(dlsym(handle, symbol)); };
  auto k = std::make_unique<Kernel>(Kernel{reinterpret_cast<void (*)(const void*)>(dlsym(handle, name)),
                                           index("threadIdx"), index("blockIdx"), index("blockDim"),
                                           index("gridDim")});
  if (!k->function) return cudaErrorInvalidValue;
  *static_cast<void (**)()>(dlsym(handle, "emulator_block_barrier")) = lather::emulator::block_barrier;
  *static_cast<void (**)()>(dlsym(handle, "emulator_warp_barrier")) = lather::emulator::warp_barrier;
  *kernel = reinterpret_cast<cudaKernel_t>(kernels.emplace_back(std::move(k)).get());
  return cudaSuccess;
}
cudaError_t cudaLibraryGetGlobal(void** variable, std::size_t* size, cudaLibrary_t library,
                                 const char* name) {
  *variable = dlsym(reinterpret_cast<Library*>(library)->handle, name);
  *size = static_cast<std::size_t>(-1);  // not told
  return *variable ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t,
                             cudaStream_t stream) {
  std::vector<char> parameter(kParameterBytes);
  std::memcpy(parameter.data(), arguments[0], kParameterBytes);
  enqueue(stream, [=, parameter = std::move(parameter)] {
    lather::emulator::launch(*static_cast<const Kernel*>(function), grid, block, parameter.data());
  });
  return cudaSuccess;
}

}  // extern "C"
