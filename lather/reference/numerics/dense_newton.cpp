// GCC bug 105593: a false warning from its own AVX-512 header, wherever Eigen uses it.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include "lather/reference/numerics/dense_newton.hpp"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"

namespace lather::reference {
namespace {

// LU of the Jacobian, each row divided by its largest entry. The transpose is stored and factored, so that
// rows of the Jacobian are contiguous.
class Factor {
 public:
  Factor(std::size_t n, const NewtonProblem& problem) {
    const auto size = static_cast<Eigen::Index>(n);
    of_->transpose.resize(size, size);
    of_->scale.resize(size);
    for (Eigen::Index row = 0; row < size; ++row) {
      poll_stop();
      auto entries = of_->transpose.col(row);
      entries.setZero();
      problem.jacobian_row(static_cast<std::size_t>(row), {entries.data(), n});
      of_->scale[row] = 1 / entries.cwiseAbs().maxCoeff();
      entries *= of_->scale[row];
    }
    run_aside([of = of_] { of->lu.emplace(of->transpose); });
  }
  Eigen::VectorXd solve(const Eigen::VectorXd& rhs) const {
    return of_->lu->transpose().solve(rhs.cwiseProduct(of_->scale));
  }

 private:
  struct Parts {
    Eigen::MatrixXd transpose;
    Eigen::VectorXd scale;
    std::optional<Eigen::PartialPivLU<Eigen::Ref<Eigen::MatrixXd>>> lu;
  };
  std::shared_ptr<Parts> of_ = std::make_shared<Parts>();
};

}  // namespace

void solve_newton(const NewtonProblem& problem, const NewtonOptions& options, std::vector<long double>& x) {
  const std::size_t n = x.size();
  std::vector<long double> residual(n);
  std::unique_ptr<Factor> factor;
  double before = INFINITY;
  for (int factored = 0;;) {
    if (!factor) {
      if (factored++ == options.factorizations) break;
      problem.linearize(x);
      factor = std::make_unique<Factor>(n, problem);
      before = INFINITY;
    }
    problem.residual(x, residual);
    Eigen::VectorXd rhs(static_cast<Eigen::Index>(n));
    for (std::size_t i = 0; i < n; ++i) rhs[static_cast<Eigen::Index>(i)] = -static_cast<double>(residual[i]);
    const Eigen::VectorXd step = factor->solve(rhs);
    const double size = step.cwiseAbs().maxCoeff();
    if (!std::isfinite(size) || size > 1e6) break;
    for (std::size_t i = 0; i < n; ++i) x[i] += step[static_cast<Eigen::Index>(i)];
    const bool shrinks = size < options.slow * before;
    if (size < options.tolerance || (!shrinks && size < options.rounding)) return;
    // The first step with a Jacobian says nothing about its convergence; keep the Jacobian if that step was
    // already small.
    const bool first = std::isinf(before);
    if (first ? size > options.keep : !shrinks) factor.reset();
    before = size;
  }
  throw Error(
      fmt::format("reference {}: Newton's method did not converge (last step {:.2e})", problem.name, before));
}

std::vector<double> split_pairs(std::span<const long double> values) {
  std::vector<double> pairs;
  pairs.reserve(2 * values.size());
  for (const long double x : values) {
    const auto high = static_cast<double>(x);
    pairs.push_back(high);
    pairs.push_back(static_cast<double>(x - high));
  }
  return pairs;
}

std::vector<long double> join_pairs(std::span<const double> pairs) {
  std::vector<long double> values;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    values.push_back(static_cast<long double>(pairs[i]) + static_cast<long double>(pairs[i + 1]));
  return values;
}

}  // namespace lather::reference
