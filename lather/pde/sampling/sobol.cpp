#include "lather/pde/sampling/sobol.hpp"

#include <cassert>

#include "lather/pde/formulas/sampling.hpp"

// s, a: degree and inner coefficients of x^s + a_1 x^(s-1) + … + a_(s-1) x + 1, a read as a binary number;
// m: initial direction numbers, odd, m_k < 2^k; v_k = m_k / 2^k.
//   m_k = 2 a_1 m_(k-1) ^ 4 a_2 m_(k-2) ^ … ^ 2^(s-1) a_(s-1) m_(k-s+1) ^ 2^s m_(k-s) ^ m_(k-s)
namespace lather::pde {

namespace {

constexpr int kBits = 32;

struct Polynomial {
  int s;
  unsigned a;
  std::array<std::uint32_t, 5> m;
};

// Dimensions 2 … 10; the first is the van der Corput sequence.
constexpr std::array<Polynomial, kSobolDimensions - 1> kPolynomials{{{1, 0, {1}},
                                                                     {2, 1, {1, 3}},
                                                                     {3, 1, {1, 3, 1}},
                                                                     {3, 2, {1, 1, 1}},
                                                                     {4, 1, {1, 1, 3, 3}},
                                                                     {4, 4, {1, 3, 5, 13}},
                                                                     {5, 2, {1, 1, 5, 5, 17}},
                                                                     {5, 4, {1, 1, 5, 5, 5}},
                                                                     {5, 7, {1, 1, 7, 11, 19}}}};

using Directions = std::array<std::array<std::uint32_t, kBits>, kSobolDimensions>;

// v[k] holds v_(k+1) as a fraction of 2^32.
constexpr Directions make_directions() {
  Directions v{};
  for (int k = 0; k < kBits; ++k) v[0][k] = 1u << (kBits - 1 - k);
  for (int d = 1; d < kSobolDimensions; ++d) {
    const Polynomial& p = kPolynomials[d - 1];
    for (int k = 0; k < kBits; ++k) {
      if (k < p.s) {
        v[d][k] = p.m[k] << (kBits - 1 - k);
        continue;
      }
      v[d][k] = v[d][k - p.s] ^ (v[d][k - p.s] >> p.s);
      for (int i = 1; i < p.s; ++i)
        if ((p.a >> (p.s - 1 - i)) & 1u) v[d][k] ^= v[d][k - i];
    }
  }
  return v;
}

constexpr Directions kDirections = make_directions();

}  // namespace

std::uint32_t sobol_bits(std::uint32_t index, int dimension) {
  assert(dimension >= 0 && dimension < kSobolDimensions);
  return sobol_bits(kDirections[dimension].data(), index);
}

}  // namespace lather::pde
