#pragma once
// The self-similar Boussinesq profile in the compact coordinates of docs/boussinesq.md (formulation F3), by
// Chebyshev collocation on [0,1] x [0,π/2], in q and in a stretched eta, and Newton's method.
//
//   y1 + i y2 = sinh(xi + i eta),  q = e^{-alpha xi},  alpha = 1/(1+lambda)
//   Omega = q w,  psi = cosh²(xi) q c,  Theta = cosh(xi) q² h
//   E = q^{2/alpha};  S = tanh xi = (1-E)/(1+E);  k = sech² xi = 4E/(1+E)²;  d = 1 - S = 2E/(1+E)
//   W = c_xi + (2S - alpha) c;  H = h_xi + (S - 2 alpha) h;  d/dxi = -alpha q d/dq

#include <cmath>
#include <vector>

#include "lather/reference/numerics/chebyshev.hpp"

namespace lather::reference {

struct BoussinesqProfile {
  int q_points = 0, eta_points = 0;  // Nq, Ne: (Nq+1) x (Ne+1) nodes
  long double lambda = 0;
  Table<long double> w, h, c;  // (i, j) at (q_i, eta_j)
};

template <class Real>
ChebyshevLine<Real> q_line(int points) {
  return chebyshev_line<Real>(points, 0, 1);
}

// Far away the profile has a layer of width 0.026 along the axis eta = π/2, where it depends on
// (eta - π/2)² + 0.026².
// Chebyshev points of s in [0, 1] with  π/2 - eta = sinh((1 - s) asinh(π/2 / kLayer)) kLayer  resolve it.
// A width between the layer's and the whole interval's spreads them well for both: 40 points leave 1e-9.
inline constexpr double kLayer = 0.04;

template <class Real>
Real layer_reach() {
  return std::asinh(std::acos(Real(0)) / Real(kLayer));
}

template <class Real>
Real s_of_eta(Real eta) {
  const Real quarter = std::acos(Real(0));
  return 1 - std::asinh((quarter - eta) / Real(kLayer)) / layer_reach<Real>();
}

template <class Real>
struct EtaLine {
  ChebyshevLine<Real> s;
  std::vector<Real> nodes;  // eta at the nodes of s, from 0 to π/2
  Table<Real> D;            // values at the nodes -> derivative with respect to eta
};

template <class Real>
EtaLine<Real> eta_line(int points) {
  const Real quarter = std::acos(Real(0)), layer = kLayer, reach = layer_reach<Real>();
  EtaLine<Real> line{chebyshev_line<Real>(points, 0, 1), {}, {}};
  line.D = line.s.D;
  for (std::size_t i = 0; i < line.s.nodes.size(); ++i) {
    const Real distance = (1 - line.s.nodes[i]) * reach;
    line.nodes.push_back(quarter - layer * std::sinh(distance));
    for (std::size_t k = 0; k < line.s.nodes.size(); ++k) line.D(i, k) /= layer * reach * std::cosh(distance);
  }
  line.nodes.front() = 0;
  return line;
}

// Everything in the equations that depends only on position and lambda.
template <class Real>
struct BoussinesqCoefficients {
  Real alpha, S, k, sine, cosine;
  Real k0;  // (d - k sin² eta)/q, 0 at q = 0
  Real k1;  // (1+lambda) k sin eta cos eta / q
  Real m0;  // {-(1-lambda) k sin² eta + (1+lambda)(-2d + d² + 2 alpha d)}/q
};

template <class Real>
BoussinesqCoefficients<Real> boussinesq_coefficients(Real q, Real eta, Real lambda) {
  BoussinesqCoefficients<Real> r{};
  r.alpha = 1 / (1 + lambda);
  const Real E = q > 0 ? std::pow(q, 2 * (1 + lambda)) : Real(0), d = 2 * E / (1 + E);
  r.S = 1 - d;
  r.k = 4 * E / ((1 + E) * (1 + E));
  r.sine = std::sin(eta);
  r.cosine = eta < std::acos(Real(0)) ? std::cos(eta) : Real(0);
  if (q > 0) {
    const Real bend = r.k * r.sine * r.sine;
    r.k0 = (d - bend) / q;
    r.k1 = (1 + lambda) * r.k * r.sine * r.cosine / q;
    r.m0 = (-(1 - lambda) * bend + (1 + lambda) * (-2 * d + d * d + 2 * r.alpha * d)) / q;
  }
  return r;
}

// Values and derivatives at one point.
template <class Real>
struct BoussinesqJet {
  Real w, w_q, w_eta, h, h_q, h_eta, c, c_q, c_eta, c_etaeta;
  Real c_q_q_q;  // q (q c_q)_q
};

// R1, R2, R3 of the formulation: vorticity, temperature, stream function.
template <class Real>
struct BoussinesqResidual {
  Real R1, R2, R3;
};

template <class Real>
BoussinesqResidual<Real> boussinesq_residual(const BoussinesqCoefficients<Real>& r, Real q,
                                             const BoussinesqJet<Real>& f) {
  const Real W = -r.alpha * q * f.c_q + (2 * r.S - r.alpha) * f.c,
             H = -r.alpha * q * f.h_q + (r.S - 2 * r.alpha) * f.h;
  const Real drift = 2 * r.S - r.alpha;
  return {r.k0 * f.w - r.S * f.w_q + r.alpha * f.c_eta * (f.w + q * f.w_q) + (r.k1 + W) * f.w_eta -
              r.cosine * H + r.S * r.sine * f.h_eta,
          r.m0 * f.h - r.S * f.h_q - f.c_eta * H + (r.k1 + W) * f.h_eta,
          r.alpha * r.alpha * f.c_q_q_q - 2 * drift * r.alpha * q * f.c_q + (drift * drift + 2 * r.k) * f.c +
              f.c_etaeta - (1 - r.k * r.sine * r.sine) * f.w};
}

// A rough profile by relaxation of the time-dependent problem in rescaled variables, on a coarse grid.
BoussinesqProfile relax_boussinesq(int q_points, int eta_points);

BoussinesqProfile solve_boussinesq(int q_points, int eta_points);

}  // namespace lather::reference
