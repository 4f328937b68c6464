#pragma once
// Problems and criteria for the optimizer × problem matrix.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "from_json.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/optimizer.hpp"
#include "lather/optim/quasi_newton/lbfgs.hpp"
#include "optim/test_functions.hpp"

namespace lather::optim::testing {

// Mean square error of a 1-8-1 tanh network on sin(pi x) at 20 points: matrices of both shapes, vectors, and
// no convexity.
class NetworkFit final : public Objective {
 public:
  NetworkFit() {
    layout_.add_matrix("layer1.weight", 1, kWidth, Role::input);
    layout_.add_vector("layer1.bias", kWidth);
    layout_.add_matrix("layer2.weight", kWidth, kWidth);
    layout_.add_matrix("layer3.weight", kWidth, 1, Role::output);
  }
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double> x) override {
    std::vector<double> gradient(x.size());
    return value_and_gradient(x, gradient);
  }
  double value_and_gradient(std::span<const double> x, std::span<double> g) override {
    const double *w1 = x.data(), *b = w1 + kWidth, *w2 = b + kWidth, *w3 = w2 + kWidth * kWidth;
    double *g1 = g.data(), *gb = g1 + kWidth, *g2 = gb + kWidth, *g3 = g2 + kWidth * kWidth;
    std::fill(g.begin(), g.end(), 0.0);
    double f = 0;
    for (int k = 0; k < kPoints; ++k) {
      const double t = -1 + 2.0 * k / (kPoints - 1);
      double a[kWidth], c[kWidth], out = 0;
      for (int i = 0; i < kWidth; ++i) a[i] = std::tanh(w1[i] * t + b[i]);
      for (int j = 0; j < kWidth; ++j) {
        double z = 0;
        for (int i = 0; i < kWidth; ++i) z += a[i] * w2[i * kWidth + j];
        c[j] = std::tanh(z);
        out += c[j] * w3[j];
      }
      const double error = out - std::sin(std::numbers::pi * t), d_out = 2 * error / kPoints;
      f += error * error / kPoints;
      double da[kWidth] = {};
      for (int j = 0; j < kWidth; ++j) {
        g3[j] += d_out * c[j];
        const double dz = d_out * w3[j] * (1 - c[j] * c[j]);
        for (int i = 0; i < kWidth; ++i) {
          g2[i * kWidth + j] += dz * a[i];
          da[i] += dz * w2[i * kWidth + j];
        }
      }
      for (int i = 0; i < kWidth; ++i) {
        const double dz = da[i] * (1 - a[i] * a[i]);
        g1[i] += dz * t;
        gb[i] += dz;
      }
    }
    return f;
  }

 private:
  static constexpr int kWidth = 8, kPoints = 20;
  ParameterLayout layout_;
};

// f(X) = sum_ij log(1 + exp(-c_ij (A X B)_ij)) with labels c by coin flips: convex, one matrix.
class LogisticFit final : public Objective {
 public:
  LogisticFit() {
    layout_.add_matrix("X", kRows, kCols);
    for (int i = 0; i < kSamples * kRows; ++i) A_[i] = Random(1, 2).normal(static_cast<std::uint64_t>(i));
    for (int i = 0; i < kCols * kLabels; ++i) B_[i] = Random(1, 3).normal(static_cast<std::uint64_t>(i));
    for (int i = 0; i < kSamples * kLabels; ++i)
      C_[i] = Random(1, 4).normal(static_cast<std::uint64_t>(i)) > 0 ? 1 : -1;
  }
  static std::vector<double> start() {
    std::vector<double> x(kRows * kCols);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = Random(1, 1).uniform(i, -1, 1);
    return x;
  }
  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double> x) override {
    std::vector<double> gradient(x.size());
    return value_and_gradient(x, gradient);
  }
  double value_and_gradient(std::span<const double> x, std::span<double> g) override {
    std::fill(g.begin(), g.end(), 0.0);
    double f = 0;
    for (int s = 0; s < kSamples; ++s)
      for (int label = 0; label < kLabels; ++label) {
        double z = 0;
        for (int i = 0; i < kRows; ++i)
          for (int j = 0; j < kCols; ++j) z += A_[s * kRows + i] * x[i * kCols + j] * B_[j * kLabels + label];
        const double c = C_[s * kLabels + label], margin = c * z;
        f += std::log1p(std::exp(-std::abs(margin))) + std::max(0.0, -margin);
        const double w = -c / (1 + std::exp(margin));
        for (int i = 0; i < kRows; ++i)
          for (int j = 0; j < kCols; ++j) g[i * kCols + j] += w * A_[s * kRows + i] * B_[j * kLabels + label];
      }
    return f;
  }

 private:
  static constexpr int kRows = 6, kCols = 3, kSamples = 60, kLabels = 4;
  ParameterLayout layout_;
  double A_[kSamples * kRows], B_[kCols * kLabels], C_[kSamples * kLabels];
};

inline std::vector<double> normal_point(std::size_t n, std::uint64_t seed, double scale = 1) {
  const Random random(seed, 99);
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = scale * random.normal(i);
  return x;
}

// Methods without a learning rate choose their step by a line search.
inline bool uses_line_search(const OptimizerEntry& entry) {
  for (const auto& field : entry.describe())
    if (field.name == "learning_rate") return false;
  return true;
}

struct Trial {
  std::string name;
  std::function<std::unique_ptr<Objective>()> objective;
  std::vector<double> start;
  double minimum;  // of the objective; NaN: what 500 steps of L-BFGS reach
  // Steps allowed, and the fraction (f - f_min) / (f_start - f_min) of the way that may be left.
  int steps_line_search;
  double left_line_search;
  int steps_first_order;
  double left_first_order;
};

inline std::vector<Trial> trials() {
  std::vector<double> spectrum;
  for (int i = 0; i < 10; ++i) spectrum.push_back(std::pow(10.0, 4.0 * i / 9));
  const double unknown = std::nan("");
  return {
      {"rosenbrock", [] { return std::make_unique<Rosenbrock>(2); }, {-1.2, 1}, 0, 100, 1e-14, 4000, 1e-2},
      {"styblinski_tang",
       [] { return std::make_unique<StyblinskiTang>(5); },
       {-1, -1, -1, -1, -1},
       unknown,
       60,
       1e-12,
       2000,
       1e-3},
      {"ill_conditioned_quadratic", [spectrum] { return std::make_unique<DiagonalQuadratic>(spectrum); },
       std::vector<double>(10, 1.0), 0, 150, 1e-10, 3000, 1e-2},
      {"logistic", [] { return std::make_unique<LogisticFit>(); }, LogisticFit::start(), unknown, 100, 1e-8,
       1500, 2e-2},
      {"network_fit", [] { return std::make_unique<NetworkFit>(); }, normal_point(88, 3, 0.5), 0, 600, 1e-4,
       2000, 0.1},
  };
}

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const ParameterLayout&)>;

inline double run_steps(Optimizer& optimizer, Objective& objective, std::vector<double> x, int steps) {
  double best = objective.value(x);
  for (int k = 0; k < steps; ++k) {
    const auto report = optimizer.step(objective, x);
    if (report.status != Status::running) break;
    best = std::fmin(best, objective.value(x));
  }
  return best;
}

inline double minimum_of(const Trial& trial) {
  if (!std::isnan(trial.minimum)) return trial.minimum;
  const auto objective = trial.objective();
  Lbfgs lbfgs(objective->layout(), {});
  return run_steps(lbfgs, *objective, trial.start, 500);
}

// The fraction of the way to the minimum that is left after `steps`.
inline double part_left(const MakeOptimizer& make, const Trial& trial, int steps) {
  const auto objective = trial.objective();
  const auto optimizer = make(objective->layout());
  const double start = objective->value(trial.start), minimum = minimum_of(trial);
  return (run_steps(*optimizer, *objective, trial.start, steps) - minimum) / (start - minimum);
}

// As a user would: first-order methods with the best of four learning rates.
inline double best_part_left(const OptimizerEntry& entry, const Trial& trial) {
  if (uses_line_search(entry))
    return part_left([&](const ParameterLayout& l) { return entry.make(l); }, trial, trial.steps_line_search);
  double best = 1e300;
  for (const double rate : {1e-1, 1e-2, 1e-3, 1e-4}) {
    best = std::fmin(best, part_left(
                               [&](const ParameterLayout& l) {
                                 return make_from_json(entry, l, {{"learning_rate", rate}});
                               },
                               trial, trial.steps_first_order));
    if (best <= trial.left_first_order) break;
  }
  return best;
}

}  // namespace lather::optim::testing
