#pragma once
// Philox 4x32-10 (Salmon et al. 2011): random bits as a pure function of seed, stream and index.

#include "lather/core/host_device.hpp"

namespace lather {

// Ten rounds on the four words of `counter`.
LATHER_HOST_DEVICE void philox_rounds(unsigned int* counter, unsigned int key0, unsigned int key1) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long p0 = 0xD2511F53ull * counter[0], p1 = 0xCD9E8D57ull * counter[2];
    counter[0] = static_cast<unsigned int>(p1 >> 32) ^ counter[1] ^ key0;
    counter[1] = static_cast<unsigned int>(p1);
    counter[2] = static_cast<unsigned int>(p0 >> 32) ^ counter[3] ^ key1;
    counter[3] = static_cast<unsigned int>(p0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

// The 64 random bits at `index` of a stream.
LATHER_HOST_DEVICE unsigned long long random_bits(unsigned long long seed, unsigned long long stream,
                                                  unsigned long long index) {
  unsigned int words[4] = {static_cast<unsigned int>(index), static_cast<unsigned int>(index >> 32),
                           static_cast<unsigned int>(stream), static_cast<unsigned int>(stream >> 32)};
  philox_rounds(words, static_cast<unsigned int>(seed), static_cast<unsigned int>(seed >> 32));
  return (static_cast<unsigned long long>(words[0]) << 32) | words[1];
}

// A number in the open interval (0, 1) from 52 bits.
LATHER_HOST_DEVICE double open_unit(unsigned long long bits) {
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace lather
