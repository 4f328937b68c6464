#pragma once
// Algorithm 2 of the paper, line by line, for one matrix: the specification of
// lather/optim/kronecker/ss_esoap.cpp. Factors live in parameter space, the check multiplies out Q^T A Q, S
// and Y are differences of stored arrays. Shared with the fast form: the eigensolver with its rule for order
// and degenerate eigenvalues, and the options.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "lather/linalg/eigensolver.hpp"
#include "lather/optim/kronecker/ss_esoap_options.hpp"
#include "small_matrices.hpp"

namespace lather::optim::testing_support {

class SsEsoapLiteral {
 public:
  SsEsoapLiteral(Mat W0, const SsEsoapOptions& options) : o(options), W(std::move(W0)) {
    const auto m = W.rows(), n = W.cols();
    M = V = Mat::Zero(m, n);
    L = o.factor_epsilon * Mat::Identity(m, m);
    R = o.factor_epsilon * Mat::Identity(n, n);
    QL = Mat::Identity(m, m);
    QR = Mat::Identity(n, n);
  }

  void step(const Mat& G) {
    ++t;
    // 1. Gradient and Kronecker factors
    L = o.beta2 * L + (1 - o.beta2) * product({G, G.transpose()});
    R = o.beta2 * R + (1 - o.beta2) * product({G.transpose(), G});

    // 2. Adaptive eigenbasis update
    basis_changed = false;
    const double left = ratio(L, QL), right = ratio(R, QR);
    rho = std::max(left, right);
    if (t > o.warmup_steps && t % o.check_interval == 0 && rho > o.trigger) {
      const Mat QL_old = QL, QR_old = QR;
      // Not in the paper: per-factor, where a basis whose own ratio is small stays.
      const bool both = o.trigger_rule == TriggerRule::both;
      left_changed = !left_fails && (both || left > o.trigger);
      right_changed = both || right > o.trigger;
      if (left_changed) QL = eigvec(L);
      if (right_changed) QR = eigvec(R);
      M = product({product({QL.transpose(), QL_old}), M, product({QR_old.transpose(), QR})});
      transition(QL_old, QR_old);
      if (o.keep_step_bound && t > 1) {
        double C2 = 0;
        for (std::int64_t k = 0; k < t - 1; ++k)
          C2 += std::pow((1 - o.beta1) * std::pow(o.beta1, k), 2) / ((1 - o.beta2) * std::pow(o.beta2, k));
        V = V.cwiseMax(M.cwiseProduct(M) / C2);
      }
      basis_changed = true;
    }

    // 3. Eigenspace statistics
    const Mat G_rot = product({QL.transpose(), G, QR});
    M = o.beta1 * M + (1 - o.beta1) * G_rot;
    V = o.beta2 * V + (1 - o.beta2) * G_rot.cwiseProduct(G_rot);
    ++variance_steps;
    const Mat V_hat = o.correct_bias ? Mat(V / (1 - std::pow(o.beta2, variance_steps))) : V;
    epsilon =
        o.epsilon + o.relative_epsilon * std::sqrt(V_hat.maxCoeff());  // Not in the paper: the relative part

    // 4. Self-scaling correction
    tau = 1;
    if (t > 1 && o.secant_metric != SecantMetric::off) {
      const Mat S = W - W_old, Y = G - G_old;
      c = product({Y.transpose(), S}).trace();
      a = metric(S, V_hat);
      if (c > 0 && a > 0) tau = std::min(o.tau_max, std::max(o.tau_min, c / a));
    }

    // 5. Parameter update
    const Mat M_hat = o.correct_bias ? Mat(M / (1 - std::pow(o.beta1, t))) : M;
    Mat U_rot = M_hat;
    if (o.inner_update == InnerUpdate::adam) U_rot = M_hat.array() / (V_hat.array().sqrt() + epsilon);
    U_rot *= std::pow(tau, -o.tau_power);
    const Mat U = product({QL, U_rot, QR.transpose()});
    W_old = W;
    G_old = G;
    W = (1 - o.learning_rate * o.weight_decay) * W - o.learning_rate * U;
  }

  SsEsoapOptions o;
  Mat W, W_old, G_old, M, V, L, R, QL, QR;
  std::int64_t t = 0, variance_steps = 0;
  double rho = 0, gamma = 1, tau = 1, c = 0, a = 0, epsilon = 0;
  bool basis_changed = false, left_changed = false, right_changed = false;
  bool left_fails = false;  // as if the eigensolver found no eigenvectors of L

 private:
  double ratio(const Mat& A, const Mat& Q) const {
    const Mat B = product({Q.transpose(), A, Q});
    const Mat off = B - Mat(B.diagonal().asDiagonal());
    const double whole = B.norm() + o.ratio_epsilon;
    return whole > 0 ? off.norm() / whole : 0;
  }

  static Mat eigvec(const Mat& A) {
    const auto d = static_cast<std::size_t>(A.rows());
    Mat Q(A.rows(), A.rows());
    std::vector<double> values(d);
    if (!linalg::eigenvectors({A.data(), d, d}, values, {Q.data(), d, d}))
      throw std::runtime_error("no eigenvectors");
    linalg::make_canonical(values, {Q.data(), d, d});
    return Q;
  }

  void transition(const Mat& QL_old, const Mat& QR_old) {
    const Mat UL = product({QL.transpose(), QL_old}), UR = product({QR.transpose(), QR_old});
    switch (o.variance_transition) {
      case VarianceTransition::downscale:
        gamma = o.gamma_values.back();
        for (std::size_t k = o.gamma_thresholds.size(); k-- > 0;)
          if (rho <= o.gamma_thresholds[k]) gamma = o.gamma_values[k];
        V *= gamma;
        break;
      case VarianceTransition::keep: break;
      case VarianceTransition::reset_both: M.setZero(); [[fallthrough]];
      case VarianceTransition::reset:
        V.setZero();
        variance_steps = 0;
        break;
      case VarianceTransition::reproject: V = product({UL, V, UR.transpose()}).cwiseMax(0.0); break;
      case VarianceTransition::reproject_squared:
        V = product({UL.cwiseProduct(UL), V, UR.cwiseProduct(UR).transpose()});
        break;
      case VarianceTransition::permute: {
        // Directions by descending eigenvalue, as in the new basis; an old basis keeps its order.
        const auto order = [](bool changed, const Mat& A, const Mat& Q) {
          const Eigen::VectorXd estimate = product({Q.transpose(), A, Q}).diagonal();
          std::vector<Eigen::Index> index(estimate.size());
          std::iota(index.begin(), index.end(), 0);
          if (!changed) return index;
          std::stable_sort(index.begin(), index.end(),
                           [&](auto i, auto j) { return estimate[i] > estimate[j]; });
          return index;
        };
        V = Mat(V(order(left_changed, L, QL_old), order(right_changed, R, QR_old)));
        break;
      }
    }
  }

  double metric(const Mat& S, const Mat& V_hat) const {
    const Mat S_rot = product({QL.transpose(), S, QR});
    const Eigen::ArrayXd dL = product({QL.transpose(), L, QL}).diagonal(),
                         dR = product({QR.transpose(), R, QR}).diagonal();
    switch (o.secant_metric) {
      case SecantMetric::off: return 0;
      case SecantMetric::paper: {
        if (o.secant_eigenvalues == SecantEigenvalues::exact)
          return product({S.transpose(), inverse(L), S, inverse(R)}).trace();
        const Eigen::ArrayXd l = dL + o.eigenvalue_floor * dL.maxCoeff(),
                             r = dR + o.eigenvalue_floor * dR.maxCoeff();
        double sum = 0;
        for (Eigen::Index i = 0; i < S.rows(); ++i)
          for (Eigen::Index j = 0; j < S.cols(); ++j) sum += S_rot(i, j) * S_rot(i, j) / (l[i] * r[j]);
        return sum;
      }
      case SecantMetric::adam:
        if (o.inner_update == InnerUpdate::momentum) return S.squaredNorm() / o.learning_rate;
        return (S_rot.array().square() * (V_hat.array().sqrt() + epsilon)).sum() / o.learning_rate;
      case SecantMetric::shampoo:
      case SecantMetric::kronecker_root:
      case SecantMetric::kronecker: {
        const double p = o.secant_metric == SecantMetric::shampoo          ? 0.25
                         : o.secant_metric == SecantMetric::kronecker_root ? 0.5
                                                                           : 1;
        const Mat left = product({QL, dL.max(0).pow(p).matrix().asDiagonal(), QL.transpose()});
        const Mat right = product({QR, dR.max(0).pow(p).matrix().asDiagonal(), QR.transpose()});
        return product({S.transpose(), left, S, right}).trace() / o.learning_rate;
      }
      case SecantMetric::oren_luenberger: return -product({S.transpose(), G_old}).trace();
      case SecantMetric::identity: return S.squaredNorm();
    }
    return 0;
  }
};

}  // namespace lather::optim::testing_support
