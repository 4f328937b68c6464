#pragma once
// Kernels of the emulated device: one block of threads after another.

#include <cuda_runtime_api.h>

namespace lather::emulator {

struct Index {
  unsigned x, y, z;
};

// A kernel in a shared library: the function and the variables it reads.
struct Kernel {
  void (*function)(const void*);
  Index *thread, *block, *block_size, *grid_size;
};

void launch(const Kernel& kernel, dim3 grid, dim3 block, const void* parameter);

// What __syncthreads and __syncwarp call.
void block_barrier();
void warp_barrier();

}  // namespace lather::emulator
