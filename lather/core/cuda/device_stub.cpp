#include "lather/core/device.hpp"
#include "lather/core/gpu_choice.hpp"

namespace lather {

void use_gpu(int) {}

CudaReport cuda_report() {
  return {false, "this program was built without CUDA (configure with -DLATHER_CUDA=ON)"};
}

}  // namespace lather
