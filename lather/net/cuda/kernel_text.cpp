#include "lather/net/cuda/kernel_text.hpp"

#include <fmt/format.h>

namespace lather::net {

using fmt::format;

std::string KernelText::lane_of(const std::string& pack, const std::string& address, const std::string& how) {
  if (declare(pack)) loads_ += format("    const Pack<N> {} = {}<N>({});\n", pack, how, address);
  return pack + ".v[l]";
}

std::string KernelText::stored(const std::string& pack, const std::string& address,
                               const std::string& value) {
  loads_ += format("    Pack<N> {};\n", pack);
  stores_ += format("    store<N>({}, {});\n", address, pack);
  return format("      {}.v[l] = {};\n", pack, value);
}

std::string KernelText::summed_by_column(const std::string& sum, const std::string& value,
                                         const std::string& target, const std::string& width,
                                         const std::string& index) {
  before_ += format("  Pack<N> {} = {{}};\n", sum);
  after_ += format(
      "#pragma unroll\n  for (int l = 0; l < N; ++l) {{\n    const double t = sum_over_y({}.v[l], "
      "shared);\n    if (active && threadIdx.y == 0) {}[(size_t)blockIdx.y * {} + {}] = t;\n  }}\n",
      sum, target, width, index);
  return format("      {}.v[l] += {};\n", sum, value);
}

std::string KernelText::summed_over_block(const std::string& sum, const std::string& value,
                                          const std::string& target, int blocks) {
  before_ += format("  Real {} = 0;\n", sum);
  after_ += format(
      "  {{ const double t = sum_over_block({}, shared);\n    if (threadIdx.x == 0 && threadIdx.y == "
      "0) {}[(size_t)blockIdx.y * {} + blockIdx.x] = t; }}\n",
      sum, target, blocks);
  return format("      {} += {};\n", sum, value);
}

std::string KernelText::body(const Shape& shape, const std::string& computation) const {
  std::string text = format("  constexpr int N = {};\n", shape.pack);
  if (!after_.empty()) text += format("  __shared__ double shared[{}];\n", shape.threads_x * shape.threads_y);
  text += format(
      "  const int x = blockIdx.x * {} + threadIdx.x, column = x * N, b = blockIdx.y - q.block;\n  const "
      "bool active = x < {};\n  (void)b;\n{}",
      shape.threads_x, shape.columns, before_);
  text += format("  if (active) for (int p = b * {} + threadIdx.y; p < q.points; p += q.blocks * {}) {{\n{}",
                 shape.threads_y, shape.threads_y, loads_);
  text += format("#pragma unroll\n    for (int l = 0; l < N; ++l) {{\n{}{}    }}\n{}  }}\n{}", lanes_,
                 computation, stores_, after_);
  return text;
}

}  // namespace lather::net
