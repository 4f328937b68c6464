#pragma once
// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): number i of stream s under seed k is a
// pure function of (k, s, i). So the same seed gives the same points on any device, thread count or rank.

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "lather/core/formulas/random.hpp"

namespace lather {

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  philox_rounds(counter.data(), key[0], key[1]);
  return counter;
}

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  // The 64 random bits at `index`.
  std::uint64_t bits(std::uint64_t index) const { return random_bits(seed_, stream_, index); }
  // Uniform on the open interval (0, 1), 52 bits.
  double uniform(std::uint64_t index) const { return open_unit(bits(index) >> 12); }
  double uniform(std::uint64_t index, double low, double high) const {
    return low + (high - low) * uniform(index);
  }
  // Standard normal (Box–Muller).
  double normal(std::uint64_t index) const {
    return std::sqrt(-2 * std::log(uniform(2 * index))) *
           std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
  }

 private:
  std::uint64_t seed_, stream_;
};

}  // namespace lather
