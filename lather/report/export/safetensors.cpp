#include "lather/report/export/safetensors.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

namespace lather::report {

std::string encode_safetensors(std::span<const NamedArray> tensors,
                               const std::map<std::string, std::string>& metadata) {
  nlohmann::json header;
  header["__metadata__"] = metadata;
  std::string data;
  for (const auto& tensor : tensors) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(double));
    header[tensor.name] = {{"dtype", "F64"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the numbers start on a multiple of eight
  const std::uint64_t length = text.size();
  std::string out(reinterpret_cast<const char*>(&length), sizeof length);
  return out + text + data;
}

}  // namespace lather::report
