#include "lather/linalg/gauss_rule.hpp"

#include <cmath>
#include <numbers>

namespace lather::linalg {

// Roots of the Legendre polynomial by Newton's method.
GaussRule gauss_rule(int n) {
  GaussRule rule;
  for (int i = 0; i < n; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1;
    for (int k = 0; k < 50; ++k) {
      double p = 1, before = 0;
      for (int j = 1; j <= n; ++j) {
        const double next = ((2 * j - 1) * x * p - (j - 1) * before) / j;
        before = p;
        p = next;
      }
      slope = n * (x * p - before) / (x * x - 1);
      const double step = p / slope;
      x -= step;
      if (std::abs(step) < 1e-16) break;
    }
    rule.nodes.push_back(x);
    rule.weights.push_back(2 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

}  // namespace lather::linalg
