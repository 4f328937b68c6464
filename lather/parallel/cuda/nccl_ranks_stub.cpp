#include "lather/parallel/nccl_report.hpp"

namespace lather::parallel {

std::string nccl_report() { return "not used: this program was built without CUDA"; }

}  // namespace lather::parallel
