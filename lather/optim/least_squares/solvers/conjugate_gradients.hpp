#pragma once
// Preconditioned conjugate gradients for A x = b with A given by its products.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {

struct ConjugateGradientOptions {
  double tolerance = 1e-8;  // |b - A x| <= tolerance |b| ends the iteration
  std::int64_t max_iterations = 500;
};

struct ConjugateGradientResult {
  std::int64_t iterations = 0;
  double residual = 0;              // |b - A x| / |b|
  bool negative_curvature = false;  // p^T A p <= 0: A is not positive definite, x is from before
};

// `x` holds the start and the result. product(p, Ap) and precondition(r, z), z = M^{-1} r, write their second
// argument.
template <class Product, class Precondition>
ConjugateGradientResult conjugate_gradients(Product product, Precondition precondition,
                                            std::span<const double> b, std::span<double> x,
                                            const ConjugateGradientOptions& options) {
  const std::size_t n = b.size();
  std::vector<double> r(b.begin(), b.end()), z(n), p(n), Ap(n);
  ConjugateGradientResult result;
  const double b_norm = norm(b);
  if (norm(x) > 0) {
    product(std::span<const double>(x), std::span<double>(Ap));
    add_scaled(r, -1, Ap);
  }
  precondition(std::span<const double>(r), std::span<double>(z));
  p = z;
  double rho = dot(r, z);
  while (result.iterations < options.max_iterations && norm(r) > options.tolerance * b_norm) {
    product(std::span<const double>(p), std::span<double>(Ap));
    ++result.iterations;
    const double curvature = dot(p, Ap);
    if (!(curvature > 0)) {
      result.negative_curvature = true;
      break;
    }
    const double alpha = rho / curvature;
    add_scaled(x, alpha, p);
    add_scaled(r, -alpha, Ap);
    precondition(std::span<const double>(r), std::span<double>(z));
    const double next = dot(r, z);
    for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + next / rho * p[i];
    rho = next;
  }
  result.residual = norm(r) / b_norm;
  return result;
}

}  // namespace lather::optim
