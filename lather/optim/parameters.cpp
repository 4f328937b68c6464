#include "lather/optim/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"

namespace lather::optim {

namespace {

constexpr std::size_t kMostParameters = std::size_t{1} << 44;  // 128 TiB: the address space of a process

std::string shape(const ParameterBlock& block) {
  return block.matrix ? fmt::format("'{}' ({} x {})", block.name, block.rows, block.cols)
                      : fmt::format("'{}' ({})", block.name, block.size());
}

}  // namespace

std::size_t ParameterLayout::add(ParameterBlock block) {
  const bool too_large = block.cols > 0 && block.rows > kMostParameters / block.cols;
  if (too_large || block.size() > kMostParameters - size_)
    throw Error(fmt::format("block {}: no memory holds so many parameters", shape(block)));
  const std::size_t offset = size_;
  size_ += block.size();
  blocks_.push_back(std::move(block));
  return offset;
}

std::string different_block(const ParameterLayout& layout, const ParameterLayout& other) {
  const auto& ours = layout.blocks();
  const auto& theirs = other.blocks();
  for (std::size_t k = 0; k < std::max(ours.size(), theirs.size()); ++k) {
    if (k >= ours.size() || k >= theirs.size())
      return fmt::format("{} blocks, not {}", theirs.size(), ours.size());
    const auto &a = ours[k], &b = theirs[k];
    if (a.rows != b.rows || a.cols != b.cols || a.matrix != b.matrix)
      return fmt::format("block {} is {}, not {}", k + 1, shape(b), shape(a));
  }
  return "";
}

}  // namespace lather::optim
