#pragma once
#include <string>

namespace lather::parallel {

// "NCCL 2.28.9", or why there is none.
std::string nccl_report();

}  // namespace lather::parallel
