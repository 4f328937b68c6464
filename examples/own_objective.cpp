// Your own function to minimize: value and gradient are enough for most optimizers; with residuals and rows
// of their Jacobian it can be solved by least squares too. Here: Rosenbrock's function in 20 dimensions,
//
//   f(x) = sum_i r_i^2,   r_{2i} = 10 (x_{i+1} - x_i^2),   r_{2i+1} = 1 - x_i.
#include <cstdio>
#include <lather/lather.hpp>

namespace {

using namespace lather;

class Rosenbrock final : public optim::Objective {
 public:
  explicit Rosenbrock(std::size_t n) { layout_.add_vector("x", n); }
  const optim::ParameterLayout& layout() const override { return layout_; }

  double value(std::span<const double> x) override {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const double a = 10 * (x[i + 1] - x[i] * x[i]), b = 1 - x[i];
      sum += a * a + b * b;
    }
    return sum;
  }
  double value_and_gradient(std::span<const double> x, std::span<double> gradient) override {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const double a = 10 * (x[i + 1] - x[i] * x[i]);
      gradient[i] += -40 * a * x[i] - 2 * (1 - x[i]);
      gradient[i + 1] += 20 * a;
    }
    return value(x);
  }

  // For methods on residuals.
  std::size_t residual_count() const override { return 2 * (size() - 1); }
  void residuals(std::span<const double> x, std::span<double> r) override {
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      r[2 * i] = 10 * (x[i + 1] - x[i] * x[i]);
      r[2 * i + 1] = 1 - x[i];
    }
  }
  void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows) override {
    std::fill(rows, rows + count * size(), 0.0);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = (first + k) / 2;
      double* row = rows + k * size();
      if ((first + k) % 2 == 0) {
        row[i] = -20 * x[i];
        row[i + 1] = 10;
      } else {
        row[i] = -1;
      }
    }
  }

 private:
  optim::ParameterLayout layout_;
};

}  // namespace

int main() {
  Rosenbrock function(20);
  bool solved = true;
  for (const char* name : {"adam", "lbfgs", "ss-broyden", "lm"}) {
    std::vector<double> x(function.size(), -0.5);
    auto optimizer = optim::find_optimizer(name).make(function.layout());
    optim::StepReport report;
    int steps = 0;
    while (steps < 300 && report.status == optim::Status::running) {
      report = optimizer->step(function, x);
      ++steps;
    }
    const double value = function.value(x);
    std::printf("%-10s %3d steps  f = %.2e  %s\n", name, steps, value, report.message.c_str());
    if (std::string(name) != "adam") solved = solved && value < 1e-12;
  }
  return solved ? 0 : 1;
}
