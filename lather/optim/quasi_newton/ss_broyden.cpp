//   b, h, a    Curvature (inverse_hessian.hpp)       c        sqrt(a / (1 + a))
//   theta      member of Broyden's family of the Hessian, theta = 0 BFGS, theta = 1 DFP; phi the same member
//              of the inverse
//   sigma      1 + a theta, the ratio of determinants  rho_k    min(1, 1/b)   (not rho = 1 / y.s)

#include "lather/optim/quasi_newton/ss_broyden.hpp"

#include <algorithm>
#include <cmath>

namespace lather::optim {
namespace {

// Not in the reference, which divides by a: at a = 0 the vectors s and H y are parallel, v vanishes, and
// every member of the family is the same update. Below this a, theta = 0 is used.
constexpr double kParallel = 1e-14;

double choose_theta(std::int64_t variant, double b, double h, double a) {
  const double c = std::sqrt(a / (1 + a));
  const double rho_minus = std::min(1.0, h * (1 - c));
  const double theta_minus = (rho_minus - 1) / a;
  switch (variant) {
    case 1: {
      const double theta_plus = std::max(1.0, b * (1 + c));
      if (b == 1) return theta_minus;
      const double theta_sr1 = 1 / (1 - b);
      return b > 1 ? std::max(theta_minus, theta_sr1) : std::min(theta_plus, theta_sr1);
    }
    case 2: {
      const double theta_plus = 1 / rho_minus;
      return std::max(theta_minus, std::min(theta_plus, (1 - b) / b));
    }
    default: return theta_minus;
  }
}

}  // namespace

Scaling ss_broyden_scaling(std::int64_t variant, const Curvature& curvature) {
  const auto [rho, b, h, a, n] = curvature;
  const double theta = a > kParallel ? choose_theta(variant, b, h, a) : 0;
  const double sigma = 1 + a * theta;
  const double sigma_n =
      n > 1 ? std::pow(std::abs(sigma), 1 / (1 - static_cast<double>(n))) : 1;  // n = 1 has a = 0, sigma = 1
  const double rho_k = std::min(1.0, 1 / b);
  const double tau = theta <= 0 ? std::min(rho_k * sigma_n, sigma) : rho_k * std::min(sigma_n, 1 / theta);
  return {.tau = tau, .phi = (1 - theta) / (1 + a * theta)};
}

SsBroyden::SsBroyden(const ParameterLayout& layout, const SsBroydenOptions& options, Device device)
    : DenseQuasiNewton(
          "ss-broyden", layout, options,
          [variant = options.variant](const Curvature& c) { return ss_broyden_scaling(variant, c); },
          device) {}

}  // namespace lather::optim
