#pragma once
// Truncated multivariate Taylor polynomials over any real type: the plain
// way to get exact derivatives, independent of the engine's symbolic
// rules. Functions are power series obtained from their differential equations.

#include <array>
#include <map>
#include <vector>

namespace lather::test {

using Exponents = std::array<int, 3>;

template <class Real>
class Taylor {
 public:
  static inline int order = 4;  // total degree kept

  Taylor(Real constant = Real(0)) { coefficients[{0, 0, 0}] = constant; }
  static Taylor variable(int direction, Real at) {
    Taylor x(at);
    Exponents e{};
    e[direction] = 1;
    x.coefficients[e] = Real(1);
    return x;
  }

  std::map<Exponents, Real> coefficients;

  // The partial derivative at the centre: coefficient times factorials.
  Real derivative(const Exponents& orders) const {
    const auto it = coefficients.find(orders);
    if (it == coefficients.end()) return Real(0);
    Real value = it->second;
    for (int n : orders)
      for (int k = 2; k <= n; ++k) value = value * Real(k);
    return value;
  }

  friend Taylor operator+(Taylor a, const Taylor& b) {
    for (const auto& [e, c] : b.coefficients) a.coefficients[e] += c;
    return a;
  }
  friend Taylor operator-(Taylor a, const Taylor& b) {
    for (const auto& [e, c] : b.coefficients) a.coefficients[e] -= c;
    return a;
  }
  friend Taylor operator*(const Taylor& a, const Taylor& b) {
    Taylor product;
    for (const auto& [ea, ca] : a.coefficients)
      for (const auto& [eb, cb] : b.coefficients) {
        const Exponents e{ea[0] + eb[0], ea[1] + eb[1], ea[2] + eb[2]};
        if (e[0] + e[1] + e[2] <= order) product.coefficients[e] += ca * cb;
      }
    return product;
  }

  // sum_k series[k] (a - a0)^k
  friend Taylor compose(const std::vector<Real>& series, const Taylor& a) {
    Taylor shifted = a;
    shifted.coefficients[{0, 0, 0}] = Real(0);
    Taylor result(series[0]), power(Real(1));
    for (std::size_t k = 1; k < series.size(); ++k) {
      power = power * shifted;
      result = result + Taylor(series[k]) * power;
    }
    return result;
  }
  Real value() const { return coefficients.at({0, 0, 0}); }
};

// Power series of f(a + h) in h, to h^order.
template <class Real>
std::vector<Real> product_series(const std::vector<Real>& a, const std::vector<Real>& b) {
  std::vector<Real> c(a.size(), Real(0));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; i + j < a.size(); ++j) c[i + j] += a[i] * b[j];
  return c;
}
// s' = right(s) order by order.
template <class Real, class Right>
std::vector<Real> solve_series(Real start, const Right& right) {
  std::vector<Real> s(Taylor<Real>::order + 1, Real(0));
  s[0] = start;
  for (int k = 0; k < Taylor<Real>::order; ++k) s[k + 1] = right(s)[k] / Real(k + 1);
  return s;
}
template <class Real>
std::vector<Real> tanh_series(Real a) {
  return solve_series(Real(tanh(a)), [](const std::vector<Real>& s) {
    auto r = product_series(s, s);
    for (auto& c : r) c = -c;
    r[0] += Real(1);
    return r;
  });
}
template <class Real>
std::vector<Real> sigmoid_series(Real a) {
  return solve_series(Real(1) / (Real(1) + exp(-a)), [](const std::vector<Real>& s) {
    auto r = product_series(s, s);
    for (std::size_t k = 0; k < r.size(); ++k) r[k] = s[k] - r[k];
    return r;
  });
}
template <class Real>
std::vector<Real> sin_series(Real a) {
  std::vector<Real> s(Taylor<Real>::order + 1);
  Real factorial(1);
  for (int k = 0; k <= Taylor<Real>::order; ++k) {
    if (k > 0) factorial = factorial * Real(k);
    const Real d = k % 4 == 0 ? sin(a) : k % 4 == 1 ? cos(a) : k % 4 == 2 ? -sin(a) : -cos(a);
    s[k] = d / factorial;
  }
  return s;
}
template <class Real>
std::vector<Real> versine_series(Real a) {  // 1 - cos
  auto c = sin_series(a + Real(2) * atan(Real(1)));
  for (auto& value : c) value = -value;
  c[0] = c[0] + Real(1);
  return c;
}
template <class Real>
std::vector<Real> swish_series(Real a) {
  auto z = std::vector<Real>(Taylor<Real>::order + 1, Real(0));
  z[0] = a;
  z[1] = Real(1);
  return product_series(z, sigmoid_series(a));
}
template <class Real>
std::vector<Real> softplus_series(Real a) {
  const auto s = sigmoid_series(a);
  std::vector<Real> r(s.size());
  r[0] = log1p(exp(a));
  for (std::size_t k = 1; k < r.size(); ++k) r[k] = s[k - 1] / Real(static_cast<int>(k));
  return r;
}
template <class Real>
std::vector<Real> gelu_series(Real a) {
  // Phi' = phi, phi' = -z phi
  const int n = Taylor<Real>::order + 1;
  std::vector<Real> z(n, Real(0)), phi(n, Real(0)), Phi(n, Real(0));
  z[0] = a;
  z[1] = Real(1);
  const Real pi = Real(4) * atan(Real(1));
  phi[0] = exp(-a * a / Real(2)) / sqrt(Real(2) * pi);
  for (int k = 0; k + 1 < n; ++k) phi[k + 1] = -product_series(z, phi)[k] / Real(k + 1);
  Phi[0] = (Real(1) + erf(a / sqrt(Real(2)))) / Real(2);
  for (int k = 0; k + 1 < n; ++k) Phi[k + 1] = phi[k] / Real(k + 1);
  return product_series(z, Phi);
}

}  // namespace lather::test
