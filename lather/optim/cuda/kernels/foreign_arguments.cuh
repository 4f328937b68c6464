#pragma once
// Arguments of the kernels in foreign_parameters.cuh; host and kernels read this file.

namespace lather::optim {

struct ForeignBlockArgs {
  void* parameter;
  const void* gradient;
  long long offset, size;
  int is_float32, padding;
};

struct ForeignKernelArgs {
  const ForeignBlockArgs* blocks;
  double* x;
  double* gradient;
};

}  // namespace lather::optim
