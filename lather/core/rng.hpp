#pragma once
// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): number i of stream s under seed k is a pure function
// of (k, s, i). So the same seed gives the same points on any device, thread count or rank.

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace lather {

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiplier0 * counter[0], p1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  // 64 random bits number `index`.
  std::uint64_t bits(std::uint64_t index) const {
    const auto block =
        philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
               {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
    return (static_cast<std::uint64_t>(block[0]) << 32) | block[1];
  }
  // Uniform on the open interval (0, 1), 52 bits.
  double uniform(std::uint64_t index) const {
    return (static_cast<double>(bits(index) >> 12) + 0.5) * 0x1p-52;
  }
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
