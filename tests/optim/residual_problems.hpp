#pragma once
// Least-squares objectives small enough to check by hand.

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/optim/objective.hpp"

namespace lather::optim::residual_problems {

// Residuals and their Jacobian (row-major, residuals × parameters) from one formula.
class ResidualFunction : public Objective {
 public:
  using Formula = std::function<void(std::span<const double> x, std::span<double> r, double* J)>;
  ResidualFunction(ParameterLayout layout, std::size_t residuals, Formula formula)
      : layout_(std::move(layout)), residuals_(residuals), formula_(std::move(formula)) {}
  ResidualFunction(std::size_t parameters, std::size_t residuals, Formula formula)
      : ResidualFunction(vector_layout(parameters), residuals, std::move(formula)) {}

  double poison = 0;  // added to the first residual and to the first entry of the Jacobian

  const ParameterLayout& layout() const override { return layout_; }
  std::size_t residual_count() const override { return residuals_; }
  double value(std::span<const double> x) override {
    evaluate(x);
    return std::inner_product(r_.begin(), r_.end(), r_.begin(), 0.0);
  }
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override {
    const double f = value(x);
    std::fill(gradient.begin(), gradient.end(), 0.0);
    for (std::size_t k = 0; k < residuals_; ++k)
      for (std::size_t i = 0; i < size(); ++i) gradient[i] += 2 * r_[k] * J_[k * size() + i];
    return f;
  }
  void residuals(std::span<const double> x, std::span<double> r) override {
    evaluate(x);
    std::copy(r_.begin(), r_.end(), r.begin());
  }
  void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows) override {
    evaluate(x);
    std::copy_n(J_.begin() + static_cast<std::ptrdiff_t>(first * size()), count * size(), rows);
  }

 private:
  static ParameterLayout vector_layout(std::size_t n) {
    ParameterLayout layout;
    layout.add_vector("x", n);
    return layout;
  }
  void evaluate(std::span<const double> x) {
    r_.assign(residuals_, 0.0);
    J_.assign(residuals_ * size(), 0.0);
    formula_(x, r_, J_.data());
    r_[0] += poison;
    J_[0] += poison;
  }
  ParameterLayout layout_;
  std::size_t residuals_;
  Formula formula_;
  std::vector<double> r_, J_;
};

// A x - b with random A of the given rank (0: full) and b = A (1, …, 1) + noise.
inline ResidualFunction linear(std::size_t m, std::size_t n, std::size_t rank = 0, double noise = 0) {
  const Random random(11, m * 1000 + n);
  std::vector<double> A(m * n), b(m);
  if (rank == 0) {
    for (std::size_t i = 0; i < A.size(); ++i) A[i] = random.normal(i);
  } else {
    for (std::size_t k = 0; k < m; ++k)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t q = 0; q < rank; ++q)
          A[k * n + i] += random.normal(k * rank + q) * random.normal(10000 + q * n + i);
  }
  for (std::size_t k = 0; k < m; ++k)
    b[k] = std::accumulate(&A[k * n], &A[k * n] + n, 0.0) + noise * random.normal(20000 + k);
  return {n, m, [=](std::span<const double> x, std::span<double> r, double* J) {
            for (std::size_t k = 0; k < m; ++k)
              r[k] = std::inner_product(x.begin(), x.end(), &A[k * n], 0.0) - b[k];
            std::copy(A.begin(), A.end(), J);
          }};
}

// 10 (x_1 - x_0^2) and 1 - x_0
inline ResidualFunction rosenbrock() {
  return {2, 2, [](std::span<const double> x, std::span<double> r, double* J) {
            r[0] = 10 * (x[1] - x[0] * x[0]);
            r[1] = 1 - x[0];
            J[0] = -20 * x[0];
            J[1] = 10;
            J[2] = -1;
          }};
}

// a exp(-b t) + c at 15 points; true values a = 2, b = 1.5, c = 0.5
inline ResidualFunction exponential_fit() {
  return {3, 15, [](std::span<const double> x, std::span<double> r, double* J) {
            for (int k = 0; k < 15; ++k) {
              const double t = 0.2 * k, e = std::exp(-x[1] * t);
              r[k] = x[0] * e + x[2] - (2 * std::exp(-1.5 * t) + 0.5);
              J[3 * k] = e;
              J[3 * k + 1] = -t * x[0] * e;
              J[3 * k + 2] = 1;
            }
          }};
}

// z = a W + b at 12 points against a target of the same form, a mean of squares: J^T J = A (x) I exactly,
// with A = mean of (a, 1)^T (a, 1).
class LinearLayer final : public ResidualFunction {
 public:
  static constexpr std::size_t kIn = 3, kOut = 2, kPoints = 12;
  LinearLayer() : ResidualFunction(make_layout(), kPoints * kOut, formula) {}

  KroneckerFactors kronecker_factors(std::span<const double>, KroneckerFactors::Sharing) override {
    KroneckerFactors factors;
    factors.diagonal.resize(size());
    KroneckerFactors::Pair pair{std::vector<double>((kIn + 1) * (kIn + 1)), {1, 0, 0, 1}};
    for (std::size_t p = 0; p < kPoints; ++p)
      for (std::size_t i = 0; i <= kIn; ++i)
        for (std::size_t j = 0; j <= kIn; ++j)
          pair.A[i * (kIn + 1) + j] += input(p, i) * input(p, j) / kPoints;
    factors.layers.push_back({0, 1, {pair}});
    return factors;
  }

  static std::vector<double> truth() {
    std::vector<double> x((kIn + 1) * kOut);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5 * static_cast<double>(i) - 1;
    return x;
  }

 private:
  static ParameterLayout make_layout() {
    ParameterLayout layout;
    layout.add_matrix("W", kIn, kOut);
    layout.add_vector("b", kOut);
    return layout;
  }
  static double input(std::size_t p, std::size_t i) { return i == kIn ? 1 : Random(3, p).normal(i); }
  static void formula(std::span<const double> x, std::span<double> r, double* J) {
    const auto target = truth();
    const double scale = 1 / std::sqrt(static_cast<double>(kPoints));
    for (std::size_t p = 0; p < kPoints; ++p)
      for (std::size_t j = 0; j < kOut; ++j)
        for (std::size_t i = 0; i <= kIn; ++i) {  // the bias follows the weight
          r[p * kOut + j] += scale * input(p, i) * (x[i * kOut + j] - target[i * kOut + j]);
          J[(p * kOut + j) * x.size() + i * kOut + j] = scale * input(p, i);
        }
  }
};

}  // namespace lather::optim::residual_problems
