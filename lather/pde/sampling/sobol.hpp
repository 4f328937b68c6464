#pragma once
// The Sobol' sequence in Gray-code order (Antonov & Saleev 1979). Direction numbers follow from primitive
// polynomials over GF(2) and the initial numbers of Joe & Kuo (2008, new-joe-kuo-6), so projections onto two
// coordinates are well spread too.

#include <array>
#include <cstdint>

namespace lather::pde {

inline constexpr int kSobolDimensions = 10;

// 32 bits of coordinate `dimension` of point `index` (both from 0); the number is bits / 2^32. Point 0 is the
// origin. Coordinate 0 of points 0, 1, 2, 3, … is 0, 1/2, 3/4, 1/4, …
std::uint32_t sobol_bits(std::uint32_t index, int dimension);

}  // namespace lather::pde
