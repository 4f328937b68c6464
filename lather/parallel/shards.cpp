#include "lather/parallel/shards.hpp"

namespace lather::parallel {

std::vector<std::size_t> piece_heads(std::size_t shards, std::size_t begin, std::size_t end) {
  std::vector<bool> left(shards, false);
  std::fill(left.begin() + static_cast<std::ptrdiff_t>(begin),
            left.begin() + static_cast<std::ptrdiff_t>(end), true);
  add_along_tree(shards, begin, end, [&](std::size_t, std::size_t b) { left[b] = false; });
  std::vector<std::size_t> heads;
  for (std::size_t s = begin; s < end; ++s)
    if (left[s]) heads.push_back(s);
  return heads;
}

ShardPlan::ShardPlan(std::size_t shards, int ranks) : shards_(shards), ranks_(ranks) {
  for (int p = 0; p < ranks; ++p) heads_.push_back(piece_heads(shards, of(p).begin, of(p).end));
}

}  // namespace lather::parallel
