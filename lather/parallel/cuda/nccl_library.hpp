#pragma once
// The part of NCCL that is used. It is loaded at first use: programs neither need nor link it.

#include <cuda_runtime_api.h>

#include <cstddef>

namespace lather::parallel {

// From nccl.h.
struct NcclId {
  char bytes[128];
};
inline constexpr int kNcclDouble = 8, kNcclSum = 0;
inline constexpr int kOldestNccl = 20900;  // the first whose work can be captured into graphs

// Functions return 0 or an error number.
struct NcclLibrary {
  int (*version)(int* version);
  const char* (*error)(int status);
  int (*make_id)(NcclId* id);
  int (*join)(void** handle, int ranks, NcclId id, int rank);
  int (*abort)(void* handle);
  int (*begin_group)();
  int (*end_group)();
  int (*send)(const void* from, std::size_t count, int type, int peer, void* handle, cudaStream_t stream);
  int (*receive)(void* to, std::size_t count, int type, int peer, void* handle, cudaStream_t stream);
  int (*sum)(const void* from, void* to, std::size_t count, int type, int operation, void* handle,
             cudaStream_t stream);
};

// The file named by $LATHER_NCCL; else libnccl.so.2 from the system's search path or the CUDA toolkit. Throws
// Error if it is missing.
const NcclLibrary& nccl_library();

}  // namespace lather::parallel
