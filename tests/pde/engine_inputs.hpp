#pragma once
// Derivatives and points for tests of the engine, on the CPU and on the GPU.

#include <array>
#include <cstdint>

#include "lather/core/rng.hpp"
#include "lather/pde/objective.hpp"

namespace lather::pde::test {

inline symbolic::MultiIndex index_of(const std::array<int, 3>& orders) {
  symbolic::MultiIndex index;
  for (int i = 0; i < 3; ++i) index.order[i] = static_cast<std::uint8_t>(orders[i]);
  return index;
}

// Coordinates, and columns of data, in [-1, 1].
inline Points random_points(int dimensions, std::size_t count, std::uint64_t seed, int columns = 0) {
  Points points;
  for (int i = 0; i < dimensions + columns; ++i) {
    const Random random(seed, i);
    auto& c = (i < dimensions ? points.coordinates : points.columns).emplace_back(count);
    for (std::size_t k = 0; k < count; ++k) c[k] = random.uniform(k, -1, 1);
  }
  return points;
}

}  // namespace lather::pde::test
