#pragma once
// The points of all sets in tiles, and which shard gets which: contiguous runs of tiles, of one set, or of
// all sets together by cost.

#include <algorithm>
#include <span>
#include <vector>

#include "lather/core/threads.hpp"

namespace lather::pde {

struct Tile {
  int set;
  std::size_t begin, count;
};

class DealtTiles {
 public:
  // spread: if there are fewer tiles than shards, empty shards are interspersed among the others, so that
  // ranks have equal shares.
  DealtTiles(std::size_t shards, bool spread) : spread_(spread), bounds_(shards + 1) {}

  // For the next set: the points of a tile, and the cost of one point.
  void add_set(std::size_t tile_points, double cost) { sets_.push_back({tile_points, cost, {}}); }
  std::size_t points_of_tile(int set) const { return sets_[set].tile_points; }

  void deal(int set, std::size_t points) {
    auto& tiles = sets_[set].tiles;
    tiles.clear();
    for (std::size_t begin = 0; begin < points; begin += points_of_tile(set))
      tiles.push_back({set, begin, std::min(points_of_tile(set), points - begin)});
    all_.clear();
    for (const auto& s : sets_) all_.insert(all_.end(), s.tiles.begin(), s.tiles.end());
    double total = 0;
    for (const auto& tile : all_) total += cost(tile);
    const int shards = static_cast<int>(bounds_.size()) - 1;
    bounds_.assign(shards + 1, all_.size());
    bounds_[0] = 0;
    double sum = 0;
    int next = 1;
    for (std::size_t i = 0; i < all_.size() && next < shards; ++i) {
      sum += cost(all_[i]);
      const int most = spread_ ? shards : next + 1;
      while (next < most && sum >= total * next / shards) bounds_[next++] = i + 1;
    }
  }

  std::span<const Tile> of_shard(std::size_t s) const {
    return std::span(all_).subspan(bounds_[s], bounds_[s + 1] - bounds_[s]);
  }
  std::span<const Tile> of_shard(int set, std::size_t s) const {
    const auto& tiles = sets_[set].tiles;
    const auto [first, last] =
        share_of(tiles.size(), static_cast<int>(s), static_cast<int>(bounds_.size()) - 1);
    return std::span(tiles).subspan(first, last - first);
  }

 private:
  struct Set {
    std::size_t tile_points;
    double cost;
    std::vector<Tile> tiles;
  };
  double cost(const Tile& tile) const { return static_cast<double>(tile.count) * sets_[tile.set].cost; }

  bool spread_;
  std::vector<Set> sets_;
  std::vector<Tile> all_;
  std::vector<std::size_t> bounds_;  // shard s has all_[bounds_[s] … bounds_[s + 1])
};

}  // namespace lather::pde
