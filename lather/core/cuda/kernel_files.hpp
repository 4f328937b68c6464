#pragma once
// Files that kernels are made of, as they stand in the tree (*/cuda/kernels/*.cuh,
// */formulas/*.hpp), inside the program: CMake embeds them.

#include <span>

namespace lather::cuda {

struct KernelFile {
  const char* name;  // as it is included: "lather/optim/formulas/adam.hpp"
  const char* text;
};
std::span<const KernelFile> kernel_files();

}  // namespace lather::cuda
