#pragma once
// Where a computation runs, and what a machine offers.

#include <string>

namespace lather {

enum class Device { cpu, cuda };

struct CudaReport {
  bool usable = false;
  std::string text;  // the GPU in words, or what is missing
};
CudaReport cuda_report();

}  // namespace lather
