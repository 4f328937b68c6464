// u_t + u u_x = nu u_xx, u(x,0) = -sin πx, u(±1,t) = 0, by the Cole–Hopf transformation:
//
//   u = -2 nu L_x,  L = log phi,  phi(x,t) = ∫ exp(g(x-s)) exp(-s²/(4 nu t)) ds,  g(y) = -cos(πy)/(2π nu).
//
// The integral is taken by the trapezoidal rule, which converges faster than any power for such an integrand.
// L_x, L_xx, … follow from the moments of the derivatives of exp(g); time derivatives from the equation
// itself.
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/core/interrupt.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

constexpr int kHighestOrder = 4;
constexpr int kDerivatives = 2 * kHighestOrder + 2;  // d^n phi/dx^n, n < kDerivatives: u_tttt needs n = 9

struct BurgersOptions {
  double nu = 0.01 / std::numbers::pi;
  double density = 2.5;
  void fields(FieldVisitor& v) {
    v.real("nu", nu, "viscosity", between(5e-4, 10));
    v.real("density", density, "quadrature points per standard deviation of the narrowest possible integrand",
           positive());
  }
};

constexpr auto binomials() {
  std::array<std::array<double, kDerivatives>, kDerivatives> c{};
  for (int n = 0; n < kDerivatives; ++n) {
    c[n][0] = 1;
    for (int k = 1; k <= n; ++k) c[n][k] = c[n - 1][k - 1] + c[n - 1][k];
  }
  return c;
}
constexpr auto kBinomials = binomials();

class Burgers final : public ReferenceSolution {
 public:
  explicit Burgers(const BurgersOptions& options) : options_(options) {}
  std::vector<std::string> fields() const override { return {"u"}; }
  std::vector<std::string> coordinates() const override { return {"x", "t"}; }
  std::vector<Interval> domain() const override { return {{-1, 1}, {0, 1}}; }
  int highest_order() const override { return kHighestOrder; }
  std::string accuracy() const override {
    return "Cole–Hopf integral: 1e-13 in u, relative 1e-11 in its first and second derivatives";
  }
  nlohmann::json settings() const override { return options::to_json(options_); }

 protected:
  void evaluate_checked(std::span<const double> points, std::size_t count, int, std::span<const int> orders,
                        std::span<double> out) const override {
    for (std::size_t i = 0; i < count; ++i) {
      poll_stop();
      out[i] = at(points[2 * i], std::max(0.0, points[2 * i + 1]), orders[0], orders[1]);
    }
  }

 private:
  double at(double x, double t, int a, int b) const {
    const int highest = a + 2 * b;  // u_t costs two x-derivatives
    const auto L = log_derivatives(x, t, highest + 1);
    // d[m][j] = ∂_t^m ∂_x^j u, by differentiating u_t = nu u_xx - u u_x.
    std::array<std::array<double, kDerivatives>, kHighestOrder + 1> d{};
    for (int j = 0; j <= highest; ++j) d[0][j] = -2 * options_.nu * L[j + 1];
    for (int m = 0; m < b; ++m)
      for (int j = 0; j <= highest - 2 * (m + 1); ++j) {
        d[m + 1][j] = options_.nu * d[m][j + 2];
        for (int l = 0; l <= m; ++l)
          for (int i = 0; i <= j; ++i)
            d[m + 1][j] -= kBinomials[m][l] * kBinomials[j][i] * d[l][i] * d[m - l][j - i + 1];
      }
    return d[b][a];
  }

  // L_x, L_xx, … up to order n. Differentiates e^{-cx} phi with c = L_x: this changes L_x by c and nothing
  // else, and avoids the differences of large powers that the derivatives of phi itself would need.
  std::array<double, kDerivatives> log_derivatives(double x, double t, int n) const {
    const double pi = std::numbers::pi, A = 1 / (2 * pi * options_.nu), four_nu_t = 4 * options_.nu * t;
    const double sigma =
        1 / std::sqrt(2 / four_nu_t + A * pi * pi);  // width of the narrowest Gaussian under the integral
    const double reach =
        std::sqrt(four_nu_t * (2 * A + 45));  // beyond it the integrand is below e^-45 of its peak
    const int half = t > 0 ? static_cast<int>(std::ceil(reach / (sigma / options_.density))) : 0;
    const double h = half > 0 ? reach / half : 0;

    const auto exponent = [&](int i) {
      const double s = i * h;
      return -A * std::cos(pi * (x - s)) - (i == 0 ? 0 : s * s / four_nu_t);
    };
    double peak = -INFINITY;
    for (int i = -half; i <= half; ++i) peak = std::max(peak, exponent(i));
    double mass = 0, c = 0;
    for (int i = -half; i <= half; ++i) {
      const double w = std::exp(exponent(i) - peak);
      mass += w;
      c += w * A * pi * std::sin(pi * (x - i * h));
    }
    c /= mass;

    std::array<double, kDerivatives> phi{}, L{};
    for (int i = -half; i <= half; ++i) {
      const double w = std::exp(exponent(i) - peak) / mass, s = std::sin(pi * (x - i * h)),
                   k = std::cos(pi * (x - i * h));
      std::array<double, kDerivatives> g{},
          p{};  // g[j]: j-th derivative of g(y) - c y; p[j]: of exp(that), over itself
      double factor = A * pi;
      for (int j = 1; j <= n; ++j, factor *= pi)
        g[j] = factor * (j % 4 == 1 ? s : j % 4 == 2 ? k : j % 4 == 3 ? -s : -k);
      g[1] -= c;
      p[0] = 1;
      for (int m = 0; m < n; ++m)
        for (int j = 0; j <= m; ++j) p[m + 1] += kBinomials[m][j] * p[m - j] * g[j + 1];
      for (int m = 0; m <= n; ++m) phi[m] += w * p[m];
    }
    for (int m = 0; m < n; ++m) {  // phi' = phi L', differentiated m times
      L[m + 1] = phi[m + 1];
      for (int j = 0; j < m; ++j) L[m + 1] -= kBinomials[m][j] * phi[m - j] * L[j + 1];
    }
    L[1] += c;
    return L;
  }

  BurgersOptions options_;
};

}  // namespace

Maker burgers_maker() {
  return {"burgers", options::describe(BurgersOptions{}),
          [](const TomlValue& settings, const std::filesystem::path&) {
            return make_closed_form<Burgers, BurgersOptions>("burgers", settings);
          }};
}

}  // namespace lather::reference
