#include "lather/reference/boussinesq/solver.hpp"

#include <algorithm>

#include "lather/reference/numerics/dense_newton.hpp"

namespace lather::reference {
namespace {

using Real = long double;

// Unknowns: w, h, c at all nodes, then lambda. Equations: R1, R2, R3, or the value where the field vanishes
// (w and h on the axis, c on axis and wall), then d1 Omega(0,0) = -1, which reads w_q = 1 + lambda at the
// origin.
class BoussinesqCollocation {
 public:
  BoussinesqCollocation(int q_points, int eta_points)
      : nq_(q_points + 1),
        ne_(eta_points + 1),
        n_(nq_ * ne_),
        q_(q_line<Real>(q_points)),
        eta_(eta_line<Real>(eta_points)),
        De2_(product(eta_.D, eta_.D)),
        Dqq_(nq_, nq_),
        dq_(converted<double>(q_.D)),
        de_(converted<double>(eta_.D)),
        de2_(converted<double>(De2_)),
        by_lambda_(3 * n_ + 1) {
    Table<Real> scaled = q_.D;  // q d/dq
    for (std::size_t i = 0; i < nq_; ++i)
      for (std::size_t k = 0; k < nq_; ++k) scaled(i, k) *= q_.nodes[i];
    Dqq_ = product(scaled, scaled);
    dqq_ = converted<double>(Dqq_);
  }

  std::size_t unknowns() const { return 3 * n_ + 1; }
  const ChebyshevLine<Real>& q() const { return q_; }
  const EtaLine<Real>& eta() const { return eta_; }

  void residual(std::span<const Real> x, std::span<Real> r) const {
    const Parts p = parts(x);
    const Real lambda = x[3 * n_];
    for (std::size_t i = 0; i < nq_; ++i)
      for (std::size_t j = 0; j < ne_; ++j) {
        const std::size_t at = i * ne_ + j;
        const auto f = jet(p, at);
        const auto R =
            boussinesq_residual(boussinesq_coefficients(q_.nodes[i], eta_.nodes[j], lambda), q_.nodes[i], f);
        r[at] = on_axis(i, j) ? f.w : R.R1;
        r[n_ + at] = on_axis(i, j) ? f.h : R.R2;
        r[2 * n_ + at] = on_axis(i, j) || j == 0 ? f.c : R.R3;
      }
    r[3 * n_] = p.w_q.data[(nq_ - 1) * ne_] - (1 + lambda);
  }

  void linearize(std::span<const Real> x) {
    at_ = parts(x);
    lambda_ = x[3 * n_];
    const Real step = 1e-6L;  // central difference in long double: truncation 1e-12, rounding 1e-13
    std::vector<Real> shifted(x.begin(), x.end()), up(unknowns()), down(unknowns());
    shifted[3 * n_] = lambda_ + step;
    residual(shifted, up);
    shifted[3 * n_] = lambda_ - step;
    residual(shifted, down);
    for (std::size_t i = 0; i < unknowns(); ++i)
      by_lambda_[i] = static_cast<double>((up[i] - down[i]) / (2 * step));
  }

  void jacobian_row(std::size_t row, std::span<double> entries) const {
    entries[3 * n_] = by_lambda_[row];
    if (row == 3 * n_) {
      for (std::size_t k = 0; k < nq_; ++k) entries[k * ne_] = dq_(nq_ - 1, k);
      return;
    }
    const std::size_t equation = row / n_, at = row % n_, i = at / ne_, j = at % ne_;
    if (on_axis(i, j) || (equation == 2 && j == 0)) {
      entries[row] = 1;
      return;
    }
    const auto f = jet(at_, at);
    const auto r = boussinesq_coefficients(q_.nodes[i], eta_.nodes[j], lambda_);
    const Real q = q_.nodes[i], alpha = r.alpha, drift = 2 * r.S - alpha;
    const Real W = -alpha * q * f.c_q + drift * f.c, H = -alpha * q * f.h_q + (r.S - 2 * alpha) * f.h;
    // Adds  a·(value) + b·(d/dq) + e·(d/deta)  of one field.
    const auto add = [&](std::size_t field, Real a, Real b, Real e) {
      double* block = &entries[field * n_];
      block[at] += static_cast<double>(a);
      for (std::size_t k = 0; k < nq_; ++k) block[k * ne_ + j] += static_cast<double>(b) * dq_(i, k);
      for (std::size_t l = 0; l < ne_; ++l) block[i * ne_ + l] += static_cast<double>(e) * de_(j, l);
    };
    if (equation == 0) {
      add(0, r.k0 + alpha * f.c_eta, -r.S + alpha * f.c_eta * q, r.k1 + W);
      add(1, -r.cosine * (r.S - 2 * alpha), r.cosine * alpha * q, r.S * r.sine);
      add(2, f.w_eta * drift, -f.w_eta * alpha * q, alpha * (f.w + q * f.w_q));
    } else if (equation == 1) {
      add(1, r.m0 - f.c_eta * (r.S - 2 * alpha), -r.S + f.c_eta * alpha * q, r.k1 + W);
      add(2, f.h_eta * drift, -f.h_eta * alpha * q, -H);
    } else {
      add(0, -(1 - r.k * r.sine * r.sine), 0, 0);
      add(2, drift * drift + 2 * r.k, -2 * drift * alpha * q, 0);
      const auto alpha2 = static_cast<double>(alpha * alpha);
      double* block = &entries[2 * n_];
      for (std::size_t k = 0; k < nq_; ++k) block[k * ne_ + j] += alpha2 * dqq_(i, k);
      for (std::size_t l = 0; l < ne_; ++l) block[i * ne_ + l] += de2_(j, l);
    }
  }

 private:
  struct Parts {
    Table<Real> w, w_q, w_eta, h, h_q, h_eta, c, c_q, c_eta, c_etaeta, c_qq;
  };
  bool on_axis(std::size_t i, std::size_t j) const { return i == nq_ - 1 || j == ne_ - 1; }

  Parts parts(std::span<const Real> x) const {
    const auto field = [&](std::size_t f) {
      Table<Real> t(nq_, ne_);
      std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(f * n_), n_, t.data.begin());
      return t;
    };
    Parts p;
    p.w = field(0), p.h = field(1), p.c = field(2);
    p.w_q = product(q_.D, p.w), p.h_q = product(q_.D, p.h), p.c_q = product(q_.D, p.c);
    p.w_eta = product_transposed(p.w, eta_.D), p.h_eta = product_transposed(p.h, eta_.D);
    p.c_eta = product_transposed(p.c, eta_.D), p.c_etaeta = product_transposed(p.c, De2_);
    p.c_qq = product(Dqq_, p.c);
    return p;
  }
  static BoussinesqJet<Real> jet(const Parts& p, std::size_t i) {
    return {p.w.data[i], p.w_q.data[i], p.w_eta.data[i], p.h.data[i],        p.h_q.data[i], p.h_eta.data[i],
            p.c.data[i], p.c_q.data[i], p.c_eta.data[i], p.c_etaeta.data[i], p.c_qq.data[i]};
  }

  std::size_t nq_, ne_, n_;
  ChebyshevLine<Real> q_;
  EtaLine<Real> eta_;
  Table<Real> De2_, Dqq_;
  Table<double> dq_, de_, de2_, dqq_;
  Parts at_;
  Real lambda_ = 0;
  std::vector<double> by_lambda_;
};

BoussinesqProfile refine(const BoussinesqProfile& start, int q_points, int eta_points, double tolerance) {
  BoussinesqCollocation equations(q_points, eta_points);
  const auto Bq = interpolation_matrix<Real>(q_line<Real>(start.q_points), equations.q().nodes);
  const auto Be = interpolation_matrix<Real>(eta_line<Real>(start.eta_points).s, equations.eta().s.nodes);
  std::vector<Real> x;
  for (const auto* field : {&start.w, &start.h, &start.c}) {
    const auto moved = product_transposed(product(Bq, *field), Be);
    x.insert(x.end(), moved.data.begin(), moved.data.end());
  }
  x.push_back(start.lambda);
  NewtonProblem problem{
      "boussinesq", [&](std::span<const Real> v, std::span<Real> r) { equations.residual(v, r); },
      [&](std::span<const Real> v) { equations.linearize(v); },
      [&](std::size_t row, std::span<double> entries) { equations.jacobian_row(row, entries); }};
  solve_newton(problem, {.tolerance = tolerance}, x);
  BoussinesqProfile profile{q_points, eta_points, x.back(), {}, {}, {}};
  const std::size_t n = (x.size() - 1) / 3;
  std::size_t f = 0;
  for (auto* field : {&profile.w, &profile.h, &profile.c}) {
    *field = Table<Real>(q_points + 1, eta_points + 1);
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(f++ * n), n, field->data.begin());
  }
  return profile;
}

}  // namespace

BoussinesqProfile solve_boussinesq(int q_points, int eta_points) {
  constexpr int kCoarseQ = 20, kCoarseEta = 18, kMiddleQ = 32, kMiddleEta = 28;
  auto profile = relax_boussinesq(kCoarseQ, kCoarseEta);
  profile = refine(profile, kCoarseQ, kCoarseEta, 1e-6);
  if (q_points > kMiddleQ && eta_points > kMiddleEta) profile = refine(profile, kMiddleQ, kMiddleEta, 1e-8);
  return refine(profile, q_points, eta_points, 1e-15);
}

}  // namespace lather::reference
