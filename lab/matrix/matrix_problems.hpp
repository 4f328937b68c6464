#pragma once
// The paper's matrix problems (section "Matrix Regression Tasks" and its appendix) as Objectives.
//
// The paper states objectives and sizes. Not in the paper: data, starting points and batch. They are taken
// from the public code of Lau, Long & Su (2025, PolarGrad), whose three experiments these are: A, B, C, U, V
// standard normal, parameters uniform on (-1, 1), 30 % of the entries observed, batches of 1000 rows drawn
// with replacement.
//
// Losses are sums, not means, except for completion (mean over observed entries), as written in the paper.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lather/core/buffer.hpp"
#include "lather/core/options.hpp"
#include "lather/core/threads.hpp"
#include "lather/optim/objective.hpp"

namespace lather::lab {

struct Metric {
  std::string name;
  double value;
};

class MatrixProblem : public optim::Objective {
 public:
  const optim::ParameterLayout& layout() const override { return layout_; }
  // Uniform on (-1, 1), from the seed of the problem.
  std::vector<double> initial_point() const;
  // Over the whole data set, whatever the current batch.
  virtual std::vector<std::string> metric_names() const = 0;
  virtual std::vector<Metric> metrics(std::span<const double> x) = 0;
  // True if value and gradient are computed on a batch; draw_batch(k) makes it batch number k, a pure
  // function of seed and k.
  virtual bool stochastic() const { return false; }
  virtual void draw_batch(std::int64_t) {}

 protected:
  explicit MatrixProblem(std::uint64_t seed) : seed_(seed) {}
  optim::ParameterLayout layout_;
  std::uint64_t seed_;
};

// f(X) = 1/2 |A X B - C|_F^2, X in R^{m x n}, A in R^{p x m}, B in R^{n x q}.
struct QuadraticRegressionOptions {
  std::int64_t m = 500, n = 100, p = 1000, q = 250, seed = 0;
  void fields(FieldVisitor& v);
};
class QuadraticRegression final : public MatrixProblem {
 public:
  explicit QuadraticRegression(const QuadraticRegressionOptions& options);
  ~QuadraticRegression() override;
  double value(std::span<const double> x) override;
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;
  std::size_t residual_count() const override;  // r = (A X B - C) / sqrt(2)
  void residuals(std::span<const double> x, std::span<double> r) override;
  std::vector<std::string> metric_names() const override;
  std::vector<Metric> metrics(std::span<const double> x) override;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

// f(X) = sum_{i, j} log(1 + exp(-c_ij (a_i X B)_j)), X in R^{m x n}, A in R^{N x m}, B in R^{n x q}, C in
// {-1, 1}^{N x q}.
enum class Labels { teacher, random };
struct LogisticRegressionOptions {
  std::int64_t m = 1000, n = 100, N = 10000, q = 400, batch = 1000, seed = 0;
  // Departs from PolarGrad, whose labels are coin flips: 100 thousand parameters cannot fit 4 million of
  // them, and the near-zero losses in the paper's table need labels that can be fitted: C = sign(A X* B).
  Labels labels = Labels::teacher;
  // Teacher labels closer to zero than this are left out of the sum. Without a margin, the loss of the
  // teacher itself is in the thousands: entries of A X* B are about 300 in size, and one in 400 is below 1.
  double margin = 0;
  void fields(FieldVisitor& v);
};
class LogisticRegression final : public MatrixProblem {
 public:
  explicit LogisticRegression(const LogisticRegressionOptions& options);
  ~LogisticRegression() override;
  double value(std::span<const double> x) override;
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;
  bool stochastic() const override;
  void draw_batch(std::int64_t number) override;
  std::vector<std::string> metric_names() const override;
  std::vector<Metric> metrics(std::span<const double> x) override;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

// f(X, Y) = |mask o (X Y^T - M)|_F^2 / |mask|_F^2, X in R^{m x r}, Y in R^{n x r}, M = U V^T of rank r.
struct MatrixCompletionOptions {
  std::int64_t m = 500, n = 250, r = 5, seed = 0;
  double observed = 0.3;
  void fields(FieldVisitor& v);
};
class MatrixCompletion final : public MatrixProblem {
 public:
  explicit MatrixCompletion(const MatrixCompletionOptions& options);
  ~MatrixCompletion() override;
  double value(std::span<const double> x) override;
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override;
  std::size_t residual_count() const override;  // one per entry, 0 where nothing is observed
  void residuals(std::span<const double> x, std::span<double> r) override;
  std::vector<std::string> metric_names() const override;
  std::vector<Metric> metrics(std::span<const double> x) override;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace lather::lab
