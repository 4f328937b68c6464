// Starting guess for Newton's method: the rescaled flow relaxes to its self-similar profile.
//
// Seek omega = C_w(t) Omega(y,t), with scaling rates c_l (length) and c_w (vorticity) chosen at every step so
// that d1 Omega(0) and d1 Phi(0) keep their prescribed values; the profile is the steady state, and lambda =
// -c_l/c_w - 1. Time is advanced by backward Euler with the transport frozen: first Theta, then Omega, then
// the stream function.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC bug 105593, as in dense_newton.cpp
#include <Eigen/LU>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"
#include "lather/reference/boussinesq/solver.hpp"

namespace lather::reference {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double kLambda = 1.92;  // known to three digits; only the coordinates of the guess depend on it
constexpr double kLength = 1.62;  // of the first guess
constexpr double kTheta = 0.73;   // (1+lambda)/4
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

// Fields w, h, c over their powers of q at the nodes (q, eta), and the matrices that act on them.
class Relaxation {
 public:
  Relaxation(int q_points, int eta_points);
  void step();
  BoussinesqProfile profile() const;

 private:
  void set_start(const std::vector<double>& q_nodes, const std::vector<double>& eta_nodes);
  void impose_zero(Matrix& M, Vector& rhs, bool also_wall) const;
  Vector stream(const Vector& vorticity) const;

  int q_points_, eta_points_;
  Eigen::Index nq_, ne_, n_;
  double alpha_ = 1 / (1 + kLambda), c_w_ = -1;
  Matrix Dq_, De_, Dxi_, buoyancy_;
  Vector q_, S_, k_, k0_, k1_, m0_, sine_, cosine_, w_, h_;
  Vector drift_, stretch_, mass_;
  std::vector<bool> axis_, wall_;  // y1 = 0, y2 = 0
  Eigen::PartialPivLU<Matrix> poisson_;
};

Relaxation::Relaxation(int q_points, int eta_points)
    : q_points_(q_points), eta_points_(eta_points), nq_(q_points + 1), ne_(eta_points + 1), n_(nq_ * ne_) {
  const auto q_axis = q_line<double>(q_points);
  const auto eta_axis = eta_line<double>(eta_points);
  Dq_ = kronecker(to_matrix(q_axis.D), Matrix::Identity(ne_, ne_));
  De_ = kronecker(Matrix::Identity(nq_, nq_), to_matrix(eta_axis.D));
  set_start(q_axis.nodes, eta_axis.nodes);
  Dxi_ = (-alpha_ * q_).asDiagonal() * Dq_;
  drift_ = 2 * S_.array() - alpha_;
  stretch_ = 1 - k_.array() * sine_.array().square();
  mass_ = (stretch_.array() + 1e-3) / kStep;  // the small part keeps the focus (stretch = 0) bounded
  Matrix poisson = Dxi_ * Dxi_ + (2 * drift_).asDiagonal() * Dxi_ + De_ * De_;
  poisson.diagonal().array() += drift_.array().square() + 2 * k_.array();
  Vector unused(n_);
  impose_zero(poisson, unused, true);
  poisson_.compute(poisson);
  buoyancy_ = cosine_.asDiagonal() * Dxi_ - (S_.cwiseProduct(sine_)).asDiagonal() * De_;
  buoyancy_.diagonal().array() += cosine_.array() * (S_.array() - 2 * alpha_);
}

// Omega = -y1 (1 + (r/l)²)^{-(1+alpha)/2}, Theta = -0.73 y1² (1 + (r/l)²)^{-(1+2 alpha)/2}, over their powers
// of cosh xi.
void Relaxation::set_start(const std::vector<double>& q_nodes, const std::vector<double>& eta_nodes) {
  for (auto* field : {&q_, &S_, &k_, &k0_, &k1_, &m0_, &sine_, &cosine_, &w_, &h_}) field->resize(n_);
  axis_.resize(n_), wall_.resize(n_);
  for (Eigen::Index i = 0; i < n_; ++i) {
    const auto iq = i / ne_, ie = i % ne_;
    q_[i] = q_nodes[iq];
    const auto r = boussinesq_coefficients(q_[i], eta_nodes[ie], kLambda);
    S_[i] = r.S, k_[i] = r.k, k0_[i] = r.k0, k1_[i] = r.k1, m0_[i] = r.m0;
    sine_[i] = r.sine, cosine_[i] = r.cosine;
    axis_[i] = iq == nq_ - 1 || ie == ne_ - 1;
    wall_[i] = ie == 0;
    const double X = r.S * r.cosine, rho = r.k + (r.S * r.S + r.k * r.sine * r.sine) / (kLength * kLength);
    const double E = (1 - r.S) / (1 + r.S);
    const double cosh_power = std::pow((1 + E) / 2, -alpha_);  // cosh^{-alpha} / q
    w_[i] = -X * std::pow(rho, -(1 + alpha_) / 2) * cosh_power;
    h_[i] = -kTheta * X * X * std::pow(rho, -(1 + 2 * alpha_) / 2) * cosh_power * cosh_power;
  }
}

void Relaxation::impose_zero(Matrix& M, Vector& rhs, bool also_wall) const {
  for (Eigen::Index i = 0; i < n_; ++i)
    if (axis_[i] || (also_wall && wall_[i])) {
      M.row(i).setZero();
      M(i, i) = 1;
      rhs[i] = 0;
    }
}

Vector Relaxation::stream(const Vector& vorticity) const {
  Vector rhs = stretch_.cwiseProduct(vorticity);
  for (Eigen::Index i = 0; i < n_; ++i)
    if (axis_[i] || wall_[i]) rhs[i] = 0;
  return poisson_.solve(rhs);
}

void Relaxation::step() {
  poll_stop();
  const Eigen::Index corner = (nq_ - 1) * ne_;  // q = 1, eta = 0: the origin
  const Eigen::RowVectorXd at_q = Dq_.row(corner), at_qq = Dq_.row(corner) * Dq_,
                           at_q_eta = De_.row(corner) * Dq_;
  const Vector c = stream(w_);
  const double a = alpha_ * at_q_eta.dot(c), w1 = -alpha_ * at_q.dot(w_),
               f1 = alpha_ * alpha_ * (at_qq.dot(h_) + at_q.dot(h_));
  const double toward_f = 2 * a - kFeedback * std::log(std::abs(f1) * 2 / (1 + kLambda));
  const double toward_w = a - f1 / w1 - kFeedback * std::log(std::abs(w1));
  c_w_ = toward_f - toward_w;
  const double c_l = toward_f - 2 * toward_w, kappa = c_l * alpha_, defect = c_w_ + alpha_ * c_l;
  const Vector c_eta = De_ * c, across = kappa * k1_ + Dxi_ * c + drift_.cwiseProduct(c);
  const Matrix transport = across.asDiagonal() * De_ - (kappa * S_).asDiagonal() * Dq_;

  Matrix M = transport - c_eta.asDiagonal() * Dxi_;
  M.diagonal() +=
      kappa * m0_ - 2 * defect * stretch_ - c_eta.cwiseProduct((S_.array() - 2 * alpha_).matrix()) + mass_;
  Vector rhs = mass_.cwiseProduct(h_);
  impose_zero(M, rhs, false);
  h_ = M.partialPivLu().solve(rhs);

  M = transport - c_eta.asDiagonal() * Dxi_;  // alpha c_eta (w + q w_q) = alpha c_eta w - c_eta w_xi
  M.diagonal() += kappa * k0_ - defect * stretch_ + alpha_ * c_eta + mass_;
  rhs = mass_.cwiseProduct(w_) + buoyancy_ * h_;
  impose_zero(M, rhs, false);
  w_ = M.partialPivLu().solve(rhs);
  if (!w_.allFinite() || !h_.allFinite())
    throw Error("reference boussinesq: the relaxation towards a starting guess diverged");
}

BoussinesqProfile Relaxation::profile() const {
  const Vector c = stream(w_);
  const double amplitude = -1 / c_w_;
  BoussinesqProfile profile{q_points_,
                            eta_points_,
                            kLambda,
                            Table<long double>(nq_, ne_),
                            Table<long double>(nq_, ne_),
                            Table<long double>(nq_, ne_)};
  for (Eigen::Index i = 0; i < n_; ++i) {
    profile.w.data[i] = w_[i] * amplitude;
    profile.h.data[i] = h_[i] * amplitude * amplitude;
    profile.c.data[i] = c[i] * amplitude;
  }
  return profile;
}

}  // namespace

BoussinesqProfile relax_boussinesq(int q_points, int eta_points) {
  Relaxation relaxation(q_points, eta_points);
  for (int step = 0; step < kSteps; ++step) relaxation.step();
  return relaxation.profile();
}

}  // namespace lather::reference
