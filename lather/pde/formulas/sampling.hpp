#pragma once
// Keys of random streams and coordinates of Sobol' points.

#include "lather/core/formulas/random.hpp"

namespace lather::pde {

// A stream's key with one more label: splitmix64.
LATHER_HOST_DEVICE unsigned long long with_label(unsigned long long z, unsigned long long label) {
  z += label + 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// 32 bits of the point `index`; directions[k] belongs to bit k of its Gray code.
LATHER_HOST_DEVICE unsigned int sobol_bits(const unsigned int* directions, unsigned int index) {
  unsigned int bits = 0;
  for (unsigned int k = 0, gray = index ^ (index >> 1); gray != 0; ++k, gray >>= 1)
    if (gray & 1u) bits ^= directions[k];
  return bits;
}
// The number they stand for, and that number after a random digital shift. The shift has 52 bits, the
// sequence gives only the first 32, so the result lies in the open interval.
LATHER_HOST_DEVICE double sobol_unit(unsigned int bits) { return bits * 0x1p-32; }
LATHER_HOST_DEVICE double shifted_sobol_unit(unsigned int bits, unsigned long long shift) {
  return open_unit((static_cast<unsigned long long>(bits) << 20) ^ shift);
}

}  // namespace lather::pde
