#pragma once
// Newton's method for a few thousand unknowns with a dense Jacobian. The Jacobian is factored in double
// precision, the residual is evaluated in long double: the steps then act as iterative refinement, and the
// solution is accurate beyond what the condition number of a spectral collocation matrix (up to N^8) would
// allow in double.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lather::reference {

struct NewtonProblem {
  std::string name;
  std::function<void(std::span<const long double> x, std::span<long double> residual)> residual;
  // Prepares the Jacobian at x; then each row is requested, with its entries zeroed.
  std::function<void(std::span<const long double> x)> linearize;
  std::function<void(std::size_t row, std::span<double> entries)> jacobian_row;
};

struct NewtonOptions {
  double tolerance = 1e-13;  // on the largest entry of the step
  double rounding = 1e-10;   // a step below this that no longer shrinks is rounding: done
  int factorizations = 12;   // Jacobians factored before giving up
  double slow = 0.3;         // a step larger than this times the previous one calls for a new Jacobian
  double keep = 1e-2;        // a first step below this keeps its Jacobian for the next
};

// Improves x in place; throws Error if it does not converge.
void solve_newton(const NewtonProblem& problem, const NewtonOptions& options, std::vector<long double>& x);

// long double <-> pairs of doubles, for the cache.
std::vector<double> split_pairs(std::span<const long double> values);
std::vector<long double> join_pairs(std::span<const double> pairs);

}  // namespace lather::reference
