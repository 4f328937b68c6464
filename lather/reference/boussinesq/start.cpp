// Starting guess for Newton's method: the rescaled flow relaxes to its self-similar profile.
//
// Seek omega = C_w(t) Omega(y,t), with scaling rates c_l (length) and c_w (vorticity) chosen at every step so
// that d1 Omega(0) and d1 Phi(0) stay where they are put; the profile is the steady state, and lambda =
// -c_l/c_w - 1. Time is advanced by backward Euler with the transport frozen: first Theta, then Omega, then
// the stream function.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC bug 105593, as in dense_newton.cpp
#include <Eigen/LU>

#include "lather/core/error.hpp"
#include "lather/reference/boussinesq/solver.hpp"

namespace lather::reference {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double kLambda = 1.92;  // known to three digits; only the coordinates of the guess depend on it
constexpr double kLength = 1.62;  // of the first guess
constexpr double kTheta = 0.73;   // -(1+lambda)/4
constexpr double kStep = 0.01, kFeedback = 3;
constexpr int kSteps = 400;

Matrix to_matrix(const Table<double>& t) {
  return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
      t.data.data(), static_cast<Eigen::Index>(t.rows), static_cast<Eigen::Index>(t.cols));
}

Matrix kronecker(const Matrix& a, const Matrix& b) {
  Matrix c = Matrix::Zero(a.rows() * b.rows(), a.cols() * b.cols());
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = 0; j < a.cols(); ++j)
      if (a(i, j) != 0) c.block(i * b.rows(), j * b.cols(), b.rows(), b.cols()) = a(i, j) * b;
  return c;
}

}  // namespace

BoussinesqProfile relax_boussinesq(int q_points, int eta_points) {
  const auto q_axis = q_line<double>(q_points);
  const auto eta_axis = eta_line<double>(eta_points);
  const Eigen::Index nq = q_points + 1, ne = eta_points + 1, n = nq * ne;
  const Matrix Dq = kronecker(to_matrix(q_axis.D), Matrix::Identity(ne, ne));
  const Matrix De = kronecker(Matrix::Identity(nq, nq), to_matrix(eta_axis.D));
  Vector q(n), S(n), k(n), k0(n), k1(n), m0(n), sine(n), cosine(n), w(n), h(n);
  std::vector<bool> axis(n), wall(n);
  const double alpha = 1 / (1 + kLambda);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto iq = i / ne, ie = i % ne;
    q[i] = q_axis.nodes[iq];
    const auto r = boussinesq_coefficients(q[i], eta_axis.nodes[ie], kLambda);
    S[i] = r.S, k[i] = r.k, k0[i] = r.k0, k1[i] = r.k1, m0[i] = r.m0, sine[i] = r.sine, cosine[i] = r.cosine;
    axis[i] = iq == nq - 1 || ie == ne - 1;  // y1 = 0
    wall[i] = ie == 0;                       // y2 = 0
    // Omega = -y1 (1 + (r/l)²)^{-(1+alpha)/2}, Theta = -0.73 y1² (1 + (r/l)²)^{-(1+2 alpha)/2}, over their
    // powers of cosh xi.
    const double X = r.S * r.cosine, rho = r.k + (r.S * r.S + r.k * r.sine * r.sine) / (kLength * kLength);
    const double E = (1 - r.S) / (1 + r.S), cosh_power = std::pow((1 + E) / 2, -alpha);  // cosh^{-alpha} / q
    w[i] = -X * std::pow(rho, -(1 + alpha) / 2) * cosh_power;
    h[i] = -kTheta * X * X * std::pow(rho, -(1 + 2 * alpha) / 2) * cosh_power * cosh_power;
  }
  const Matrix Dxi = (-alpha * q).asDiagonal() * Dq;
  const Vector drift = 2 * S.array() - alpha, stretch = 1 - k.array() * sine.array().square();
  const auto impose_zero = [&](Matrix& M, Vector& rhs, bool also_wall) {
    for (Eigen::Index i = 0; i < n; ++i)
      if (axis[i] || (also_wall && wall[i])) {
        M.row(i).setZero();
        M(i, i) = 1;
        rhs[i] = 0;
      }
  };
  Matrix poisson = Dxi * Dxi + (2 * drift).asDiagonal() * Dxi + De * De;
  poisson.diagonal().array() += drift.array().square() + 2 * k.array();
  Vector unused(n);
  impose_zero(poisson, unused, true);
  const Eigen::PartialPivLU<Matrix> poisson_lu(poisson);
  const auto stream = [&](const Vector& vorticity) -> Vector {
    Vector rhs = stretch.cwiseProduct(vorticity);
    for (Eigen::Index i = 0; i < n; ++i)
      if (axis[i] || wall[i]) rhs[i] = 0;
    return poisson_lu.solve(rhs);
  };

  const Eigen::Index corner = (nq - 1) * ne;  // q = 1, eta = 0: the origin
  const Eigen::RowVectorXd at_q = Dq.row(corner), at_qq = Dq.row(corner) * Dq, at_q_eta = De.row(corner) * Dq;
  Matrix buoyancy = cosine.asDiagonal() * Dxi - (S.cwiseProduct(sine)).asDiagonal() * De;
  buoyancy.diagonal().array() += cosine.array() * (S.array() - 2 * alpha);
  const Vector mass =
      (stretch.array() + 1e-3) / kStep;  // the small part keeps the focus (stretch = 0) bounded
  Vector c;
  double c_w = -1;
  for (int step = 0; step < kSteps; ++step) {
    c = stream(w);
    const double a = alpha * at_q_eta.dot(c), w1 = -alpha * at_q.dot(w),
                 f1 = alpha * alpha * (at_qq.dot(h) + at_q.dot(h));
    const double toward_f = 2 * a - kFeedback * std::log(std::abs(f1) * 2 / (1 + kLambda));
    const double toward_w = a - f1 / w1 - kFeedback * std::log(std::abs(w1));
    c_w = toward_f - toward_w;
    const double c_l = toward_f - 2 * toward_w, kappa = c_l * alpha, defect = c_w + alpha * c_l;
    const Vector c_eta = De * c, across = kappa * k1 + Dxi * c + drift.cwiseProduct(c);
    const Matrix transport = across.asDiagonal() * De - (kappa * S).asDiagonal() * Dq;

    Matrix M = transport - c_eta.asDiagonal() * Dxi;
    M.diagonal() +=
        kappa * m0 - 2 * defect * stretch - c_eta.cwiseProduct((S.array() - 2 * alpha).matrix()) + mass;
    Vector rhs = mass.cwiseProduct(h);
    impose_zero(M, rhs, false);
    h = M.partialPivLu().solve(rhs);

    M = transport - c_eta.asDiagonal() * Dxi;  // alpha c_eta (w + q w_q) = alpha c_eta w - c_eta w_xi
    M.diagonal() += kappa * k0 - defect * stretch + alpha * c_eta + mass;
    rhs = mass.cwiseProduct(w) + buoyancy * h;
    impose_zero(M, rhs, false);
    w = M.partialPivLu().solve(rhs);
    if (!w.allFinite() || !h.allFinite())
      throw Error("reference boussinesq: the relaxation towards a starting guess diverged");
  }
  c = stream(w);
  const double amplitude = -1 / c_w;
  BoussinesqProfile profile{q_points,
                            eta_points,
                            kLambda,
                            Table<long double>(nq, ne),
                            Table<long double>(nq, ne),
                            Table<long double>(nq, ne)};
  for (Eigen::Index i = 0; i < n; ++i) {
    profile.w.data[i] = w[i] * amplitude;
    profile.h.data[i] = h[i] * amplitude * amplitude;
    profile.c.data[i] = c[i] * amplitude;
  }
  return profile;
}

}  // namespace lather::reference
