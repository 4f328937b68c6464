#pragma once
// Gradients from a formula instead of a loss, so that what an optimizer does with them can be compared
// without feedback.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "lather/core/rng.hpp"
#include "lather/optim/objective.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim::testing_support {

// gradient(t, g) writes gradient number t = 0, 1, …
class GradientStream final : public Objective {
 public:
  using Rule = std::function<void(std::size_t t, std::span<double> g)>;
  GradientStream(ParameterLayout layout, Rule rule) : layout_(std::move(layout)), rule_(std::move(rule)) {}
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double>) override { return 0; }
  double value_and_gradient(std::span<const double>, std::span<double> gradient) override {
    rule_(t++, gradient);
    return 0;
  }
  std::size_t t = 0;

 private:
  ParameterLayout layout_;
  Rule rule_;
};

inline GradientStream::Rule random_gradients(std::uint64_t seed, double scale = 1) {
  return [=](std::size_t t, std::span<double> g) {
    const Random random(seed, t);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = scale * random.normal(i);
  };
}

// 10^(-t/50) times random numbers.
inline GradientStream::Rule decaying_gradients(std::uint64_t seed, double scale = 1) {
  return [=](std::size_t t, std::span<double> g) {
    const Random random(seed, t);
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] = scale * std::pow(10, -static_cast<double>(t) / 50) * random.normal(i);
  };
}

// A slowly turning rank-one matrix plus a little noise.
inline GradientStream::Rule low_rank_gradients(std::uint64_t seed, std::size_t rows, std::size_t cols,
                                               double noise, double scale = 1) {
  return [=](std::size_t t, std::span<double> g) {
    const Random fixed(seed, 1000000), random(seed, t);
    const double phase = 0.02 * static_cast<double>(t);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < cols; ++j) {
        const double u = std::cos(phase) * fixed.normal(i) + std::sin(phase) * fixed.normal(rows + i);
        const double regular = u * fixed.normal(2 * rows + j) * (1 + 0.3 * random.normal(rows * cols));
        g[i * cols + j] = scale * (regular + noise * random.normal(i * cols + j));
      }
  };
}

inline GradientStream::Rule zero_gradients() {
  return [](std::size_t, std::span<double> g) { std::fill(g.begin(), g.end(), 0.0); };
}

inline ParameterLayout one_matrix(std::size_t rows, std::size_t cols) {
  ParameterLayout layout;
  layout.add_matrix("W", rows, cols);
  return layout;
}

inline std::vector<double> random_point(std::size_t size, std::uint64_t seed) {
  const Random random(seed, 77);
  std::vector<double> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = random.normal(i);
  return x;
}

// What an optimizer reports about its last step; fails the test if it does not report it.
inline double diagnostic(const Optimizer& optimizer, std::string_view quantity) {
  for (const auto& d : optimizer.diagnostics())
    if (d.quantity == quantity) return d.value;
  ADD_FAILURE() << "no diagnostic " << quantity;
  return 0;
}

}  // namespace lather::optim::testing_support
