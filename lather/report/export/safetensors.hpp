#pragma once
// The safetensors format: u64 length of the header, the header as JSON, then the numbers.

#include <map>
#include <span>
#include <string>

#include "lather/report/export/npz.hpp"

namespace lather::report {

std::string encode_safetensors(std::span<const NamedArray> tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace lather::report
