#include "lather/reference/boussinesq/fields.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace lather::reference {
namespace {

using C = std::complex<double>;
constexpr int kOrders = BoussinesqFields::kHighestOrder + 1;

std::size_t slot(int a, int b) { return static_cast<std::size_t>(a) * kOrders + b; }

// A prefactor of the compact form as a sum of A e^{r xi}: e^{-alpha xi}, cosh xi e^{-2 alpha xi}, cosh² xi
// e^{-alpha xi}.
struct Exponential {
  double A, r;
};
std::array<Exponential, 3> prefactor(BoussinesqFields::Compact field, double alpha) {
  switch (field) {
    case BoussinesqFields::w: return {{{1, -alpha}, {0, 0}, {0, 0}}};
    case BoussinesqFields::h: return {{{0.5, 1 - 2 * alpha}, {0.5, -1 - 2 * alpha}, {0, 0}}};
    default: return {{{0.25, 2 - alpha}, {0.5, -alpha}, {0.25, -2 - alpha}}};
  }
}

// f_eta … f_etaetaeta from f_s … f_sss:  sum_n factor[b][n] ∂_s^n f  is  ∂_eta^b f.
struct EtaChain {
  double factor[kOrders][kOrders] = {};
  explicit EtaChain(double eta) {
    const double distance = std::acos(0.0) - eta, r2 = distance * distance + kLayer * kLayer,
                 r = std::sqrt(r2), reach = layer_reach<double>();
    const double s1 = 1 / (reach * r), s2 = s1 * distance / r2,
                 s3 = s1 * (3 * distance * distance - r2) / (r2 * r2);
    factor[0][0] = 1;
    factor[1][1] = s1;
    factor[2][1] = s2, factor[2][2] = s1 * s1;
    factor[3][1] = s3, factor[3][2] = 3 * s1 * s2, factor[3][3] = s1 * s1 * s1;
  }
};

constexpr double kBinomial[4][4] = {{1, 0, 0, 0}, {1, 1, 0, 0}, {1, 2, 1, 0}, {1, 3, 3, 1}};

}  // namespace

BoussinesqFields::BoussinesqFields(const BoussinesqProfile& profile)
    : lambda_(static_cast<double>(profile.lambda)), alpha_(static_cast<double>(1 / (1 + profile.lambda))) {
  const auto q = q_line<long double>(profile.q_points);
  const auto eta = eta_line<long double>(profile.eta_points);
  for (const auto x : q.nodes) q_.push_back(static_cast<double>(x));
  for (const auto x : eta.s.nodes) s_.push_back(static_cast<double>(x));
  const Table<long double>* sources[3] = {&profile.w, &profile.h, &profile.c};
  for (int f = 0; f < 3; ++f) {
    grids_[f].resize(kOrders * kOrders);
    auto by_q = *sources[f];
    for (int a = 0; a < kOrders; ++a) {
      auto both = by_q;
      for (int b = 0; a + b < kOrders; ++b) {
        grids_[f][slot(a, b)] = converted<double>(both);
        both = product_transposed(both, eta.s.D);
      }
      by_q = product(q.D, by_q);
    }
  }
}

BoussinesqFields::Weights BoussinesqFields::weights_at(double q, double eta) const {
  Weights at{std::vector<double>(q_.size()), std::vector<double>(s_.size())};
  interpolation_weights<double>(q_, q, at.q);
  interpolation_weights<double>(s_, s_of_eta(eta), at.s);
  return at;
}

double BoussinesqFields::nodal(Compact field, int by_q, int by_s, const Weights& at) const {
  const auto& grid = grids_[field][slot(by_q, by_s)];
  double sum = 0;
  for (std::size_t i = 0; i < at.q.size(); ++i) {
    double line = 0;
    for (std::size_t j = 0; j < at.s.size(); ++j) line += grid(i, j) * at.s[j];
    sum += at.q[i] * line;
  }
  return sum;
}

double BoussinesqFields::compact(Compact field, int by_q, int by_eta, double q, double eta) const {
  const Weights at = weights_at(q, eta);
  const EtaChain chain(eta);
  double sum = 0;
  for (int n = 0; n <= by_eta; ++n)
    if (chain.factor[by_eta][n] != 0) sum += chain.factor[by_eta][n] * nodal(field, by_q, n, at);
  return sum;
}

// q/Q = ((1 + E)/2)^alpha, E = e^{-2 xi}: with P = (q/Q)^m,
// m = 2 for h and 1 otherwise, d = 1 - tanh xi, k = sech² xi
//   P_xi = -m alpha d P,            P_xixi = (m² alpha² d² + m alpha k) P,
//   xi_z = 2/(stretch (1 - z²)),    xi_zz = 2z xi_z/(1 - z²).
double BoussinesqFields::even(Compact field, int by_z, int by_eta, double z, double eta,
                              double stretch) const {
  const double xi = std::log1p(2 * z / (1 - z)) / stretch, q = std::exp(-alpha_ * xi), E = std::exp(-2 * xi),
               d = 2 * E / (1 + E), k = d * (2 - d);
  const double ma = (field == h ? 2 : 1) * alpha_, P = std::pow((1 + E) / 2, ma);
  const double f = compact(field, 0, by_eta, q, eta);
  if (by_z == 0) return P * f;
  const double f_q = compact(field, 1, by_eta, q, eta), f_xi = -alpha_ * q * f_q;
  const double F_xi = P * (f_xi - ma * d * f), xi_z = 2 / (stretch * (1 - z * z));
  if (by_z == 1) return F_xi * xi_z;
  const double f_xixi = alpha_ * alpha_ * q * (f_q + q * compact(field, 2, by_eta, q, eta));
  const double F_xixi = P * (f_xixi - 2 * ma * d * f_xi + (ma * ma * d * d + ma * k) * f);
  return F_xixi * xi_z * xi_z + F_xi * xi_z * 2 * z / (1 - z * z);
}

// With zeta = asinh(z), z = y1 + i y2, and Wirtinger derivatives the chain rule is that of one complex
// variable:
//   F_z = F_ζ ζ',  F_zz = F_ζζ ζ'² + F_ζ ζ'',  F_zz̄ = F_ζζ̄ |ζ'|²,
//   F_zzz = F_ζζζ ζ'³ + 3 F_ζζ ζ'ζ'' + F_ζ ζ''',  F_zzz̄ = (F_ζζζ̄ ζ'² + F_ζζ̄ ζ'') conj(ζ').
double BoussinesqFields::plane(Compact field, int a, int b, double y1, double y2) const {
  const int order = a + b;
  const C z(y1, y2), zeta = std::asinh(z);
  const double xi = std::abs(zeta.real()), eta = std::clamp(zeta.imag(), 0.0, std::acos(0.0)),
               q = std::exp(-alpha_ * xi);

  const Weights at = weights_at(q, eta);
  const EtaChain chain(eta);
  double F[4][4] = {}, G[4][4] = {}, P[4] = {};
  for (int m = 0; m <= order; ++m) {
    double by_s[4] = {};
    for (int n = 0; m + n <= order; ++n) by_s[n] = nodal(field, m, n, at);
    for (int by_eta = 0; m + by_eta <= order; ++by_eta)
      for (int n = 0; n <= by_eta; ++n) F[m][by_eta] += chain.factor[by_eta][n] * by_s[n];
  }
  const double s = -alpha_;
  for (int n = 0; n <= order; ++n) {  // d/dxi = -alpha q d/dq, in place
    const double f1 = F[1][n], f2 = F[2][n], f3 = F[3][n];
    F[1][n] = s * q * f1;
    F[2][n] = s * s * (q * f1 + q * q * f2);
    F[3][n] = s * s * s * (q * f1 + 3 * q * q * f2 + q * q * q * f3);
  }
  for (const auto& [A, r] : prefactor(field, alpha_))
    for (int m = 0; m <= order; ++m) P[m] += A * std::pow(r, m) * std::exp(r * xi);
  for (int m = 0; m <= order; ++m)
    for (int n = 0; m + n <= order; ++n)
      for (int l = 0; l <= m; ++l) G[m][n] += kBinomial[m][l] * P[m - l] * F[l][n];
  if (order == 0) return G[0][0];

  const C i(0, 1), root = std::sqrt(1.0 + z * z);
  const C s1 = 1.0 / root, s2 = -z * s1 * s1 * s1, s3 = (2.0 * z * z - 1.0) * std::pow(s1, 5);
  const C f1 = (G[1][0] - i * G[0][1]) / 2.0;
  const C f2 = (G[2][0] - 2.0 * i * G[1][1] - G[0][2]) / 4.0;
  const double f11 = (G[2][0] + G[0][2]) / 4;
  const C f3 = (G[3][0] - 3.0 * i * G[2][1] - 3 * G[1][2] + i * G[0][3]) / 8.0;
  const C f21 = (G[3][0] + G[1][2] - i * (G[2][1] + G[0][3])) / 8.0;
  C d[4][4] = {};  // d[m][n] = ∂_z^m ∂_z̄^n
  d[1][0] = f1 * s1;
  d[2][0] = f2 * s1 * s1 + f1 * s2;
  d[1][1] = f11 * std::norm(s1);
  d[3][0] = f3 * s1 * s1 * s1 + 3.0 * f2 * s1 * s2 + f1 * s3;
  d[2][1] = (f21 * s1 * s1 + f11 * s2) * std::conj(s1);
  for (int m = 0; m < 4; ++m)
    for (int n = m + 1; n < 4; ++n) d[m][n] = std::conj(d[n][m]);

  C expansion[4] = {
      1.0};  // ∂_1 = ∂_z + ∂_z̄, ∂_2 = i(∂_z - ∂_z̄), multiplied out: expansion[m] of ∂_z^m ∂_z̄^{order-m}
  for (int step = 0; step < order; ++step) {
    const C with_z = step < a ? C(1) : i, with_conjugate = step < a ? C(1) : -i;
    for (int m = step + 1; m >= 0; --m)
      expansion[m] = (m > 0 ? expansion[m - 1] * with_z : C(0)) + expansion[m] * with_conjugate;
  }
  C sum = 0;
  for (int m = 0; m <= order; ++m) sum += expansion[m] * d[m][order - m];
  return sum.real();
}

// At the focus y = (0,1) of the coordinates, ζ' is infinite although the fields are smooth: there they are
// interpolated along y2 from the Chebyshev points of [0.6, 1.4], none closer to the focus than 0.039.
double BoussinesqFields::beside_focus(Compact field, int a, int b, double y1, double y2) const {
  constexpr int kPoints = 16;
  double top = 0, bottom = 0;
  for (int k = 0; k < kPoints; ++k) {
    const double angle = std::numbers::pi * (2 * k + 1) / (2 * kPoints), node = 1 + 0.4 * std::cos(angle);
    const double weight = (k % 2 == 0 ? 1 : -1) * std::sin(angle) / (y2 - node);
    top += weight * plane(field, a, b, y1, node);
    bottom += weight;
  }
  return top / bottom;
}

double BoussinesqFields::physical(Physical field, int a, int b, double y1, double y2) const {
  Compact source = w;
  double sign = 1;
  switch (field) {
    case Omega: break;
    case U1: source = c, ++b, sign = -1; break;  // -∂_2 psi
    case U2: source = c, ++a; break;             // ∂_1 psi
    case Phi: source = h, ++a; break;
    case Psi: source = h, ++b; break;
    case Theta: source = h; break;
  }
  const bool odd = source != h;  // Omega and psi are odd in y1, Theta is even
  if (y1 < 0 && odd != (a % 2 == 1)) sign = -sign;
  y1 = std::abs(y1);
  constexpr double kNearFocus = 0.03;
  return sign * (std::hypot(y1, y2 - 1) < kNearFocus ? beside_focus(source, a, b, y1, y2)
                                                     : plane(source, a, b, y1, y2));
}

}  // namespace lather::reference
