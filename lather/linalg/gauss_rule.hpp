#pragma once
// Gauss–Legendre quadrature.

#include <vector>

namespace lather::linalg {

struct GaussRule {
  std::vector<double> nodes, weights;  // on (-1, 1), nodes in decreasing order
};
// `n` nodes, exact for polynomials of degree 2 n - 1.
GaussRule gauss_rule(int n);

}  // namespace lather::linalg
