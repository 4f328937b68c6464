#pragma once
// Source files of the kernels as they are in the tree (*/cuda/kernels/*.cuh,
// */formulas/*.hpp), embedded in the program by CMake.

#include <span>

namespace lather::cuda {

struct KernelFile {
  const char* name;  // as it is included: "lather/optim/formulas/adam.hpp"
  const char* text;
};
std::span<const KernelFile> kernel_files();

}  // namespace lather::cuda
