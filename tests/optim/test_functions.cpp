#include "optim/test_functions.hpp"

#include <algorithm>

namespace lather::optim {
namespace {

// The value is a by-product of the gradient; these functions are too small for a second formula to pay off.
template <class Function>
double value_only(Function& f, std::span<const double> x) {
  std::vector<double> gradient(x.size());
  return f.value_and_gradient(x, gradient);
}

}  // namespace

Rosenbrock::Rosenbrock(std::size_t n, double steepness) : steepness_(steepness) {
  layout_.add_vector("x", n);
}
double Rosenbrock::value(std::span<const double> x) { return value_only(*this, x); }
double Rosenbrock::value_and_gradient(std::span<const double> x, std::span<double> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  double f = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double valley = x[i + 1] - x[i] * x[i], distance = 1 - x[i];
    f += steepness_ * valley * valley + distance * distance;
    gradient[i] += -4 * steepness_ * valley * x[i] - 2 * distance;
    gradient[i + 1] += 2 * steepness_ * valley;
  }
  return f;
}

DiagonalQuadratic::DiagonalQuadratic(std::vector<double> d) : d_(std::move(d)) {
  layout_.add_vector("x", d_.size());
}
double DiagonalQuadratic::value(std::span<const double> x) { return value_only(*this, x); }
double DiagonalQuadratic::value_and_gradient(std::span<const double> x, std::span<double> gradient) {
  double f = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    gradient[i] = d_[i] * x[i];
    f += 0.5 * gradient[i] * x[i];
  }
  return f;
}

StyblinskiTang::StyblinskiTang(std::size_t n) { layout_.add_vector("x", n); }
double StyblinskiTang::value(std::span<const double> x) { return value_only(*this, x); }
double StyblinskiTang::value_and_gradient(std::span<const double> x, std::span<double> gradient) {
  double f = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double square = x[i] * x[i];
    f += 0.5 * (square * square - 16 * square + 5 * x[i]);
    gradient[i] = 2 * square * x[i] - 16 * x[i] + 2.5;
  }
  return f;
}

}  // namespace lather::optim
