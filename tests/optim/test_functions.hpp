#pragma once
// Classic functions for trying optimizers on: the chained Rosenbrock function, a diagonal quadratic,
// Styblinski–Tang.

#include <cstddef>
#include <vector>

#include "lather/optim/objective.hpp"

namespace lather::optim {

// sum_{i < n-1} steepness (x_{i+1} - x_i^2)^2 + (1 - x_i)^2; minimum 0 at (1, …, 1).
class Rosenbrock final : public Objective {
 public:
  explicit Rosenbrock(std::size_t n, double steepness = 100);
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double> x) override;
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;

 private:
  ParameterLayout layout_;
  double steepness_;
};

// 1/2 sum_i d_i x_i^2; minimum 0 at 0.
class DiagonalQuadratic final : public Objective {
 public:
  explicit DiagonalQuadratic(std::vector<double> d);
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double> x) override;
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;

 private:
  ParameterLayout layout_;
  std::vector<double> d_;
};

// 1/2 sum_i x_i^4 - 16 x_i^2 + 5 x_i; minimum -39.16617 n at x_i = -2.903534, with 2^n local minima.
class StyblinskiTang final : public Objective {
 public:
  explicit StyblinskiTang(std::size_t n);
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double> x) override;
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;

 private:
  ParameterLayout layout_;
};

}  // namespace lather::optim
