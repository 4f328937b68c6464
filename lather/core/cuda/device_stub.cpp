#include "lather/core/device.hpp"

namespace lather {

CudaReport cuda_report() {
  return {false, "this program was built without CUDA (configure with -DLATHER_CUDA=ON)"};
}

}  // namespace lather
