#include "lather/reference/numerics/gaussian.hpp"

#include <cmath>
#include <numbers>

namespace lather::reference {

// Composite Gauss–Legendre, four points per panel, panels a fortieth of the shortest wave: error below
// rounding.
std::vector<Complex> gaussian_coefficients(double rate, double centre, int power, int K) {
  constexpr double node[2] = {0.33998104358485626, 0.86113631159405258},
                   weight[2] = {0.65214515486254614, 0.34785484513745386};
  const int panels = 40 * (K + 10);
  const double half_width = 1.0 / panels;
  std::vector<Complex> c(2 * K + 1);
  for (int p = 0; p < panels; ++p)
    for (int side = 0; side < 4; ++side) {
      const int i = side / 2;
      const double x = -1 + half_width * (2 * p + 1 + (side % 2 == 0 ? node[i] : -node[i])), y = x - centre;
      const Complex turn = std::polar(1.0, -std::numbers::pi * x);
      Complex wave = std::polar(0.5 * half_width * weight[i] * std::pow(y, power) * std::exp(-rate * y * y),
                                std::numbers::pi * K * x);
      for (int k = -K; k <= K; ++k, wave *= turn) c[k + K] += wave;
    }
  return c;
}

}  // namespace lather::reference
