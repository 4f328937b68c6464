#include "lather/optim/quasi_newton/inverse_hessian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {
namespace {

template <class Rows>
void split_rows(std::size_t n, ThreadTeam* team, Rows rows) {
  if (!team) return rows(0, n);
  team->run([&](int thread) {
    const auto [begin, end] = share_of(n, thread, team->size());
    rows(begin, end);
  });
}

bool usable(const Scaling& scaling) {
  return std::isfinite(scaling.tau) && scaling.tau > 0 && std::isfinite(scaling.phi);
}

// Square roots of the coefficients go into the vectors, so that entries (i, j) and (j, i) are the same
// products in the same order and H stays symmetric to the last bit.
std::vector<double> scaled(std::span<const double> x, double factor) {
  std::vector<double> result(x.begin(), x.end());
  for (double& value : result) value *= factor;
  return result;
}

class HostMatrix final : public InverseHessian {
 public:
  HostMatrix(std::span<double> H, std::size_t n, ThreadTeam* team) : H_(H), n_(n), team_(team) {}
  explicit HostMatrix(std::size_t n) : own_(n * n), H_(own_), n_(n) {
    // Not measured: 1000 parameters make H 8 MB, about where it leaves the L2 caches and threads can help.
    if (n >= 1000 && available_cores() > 1) {
      own_team_ = std::make_unique<ThreadTeam>(available_cores());
      team_ = own_team_.get();
    }
  }

  void set_to_identity(double scale) override {
    std::fill(H_.begin(), H_.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i) H_[i * n_ + i] = scale;
  }
  void multiply(std::span<const double> x, std::span<double> result) override {
    split_rows(n_, team_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) result[i] = dot(H_.subspan(i * n_, n_), x);
    });
  }
  void correct(const Correction& c) override {
    split_rows(n_, team_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        double* row = H_.data() + i * n_;
        const double pi = c.p[i], qi = c.q[i], ri = c.r[i];
        for (std::size_t j = 0; j < n_; ++j)
          row[j] = row[j] * c.scale - pi * c.p[j] + c.sign * (qi * c.q[j]) + ri * c.r[j];
      }
    });
  }
  void state(StateVisitor& visitor) override { visitor.array("inverse_hessian", H_); }

 private:
  std::vector<double> own_;
  std::span<double> H_;
  std::size_t n_;
  std::unique_ptr<ThreadTeam> own_team_;
  ThreadTeam* team_ = nullptr;
};

}  // namespace

std::unique_ptr<InverseHessian> make_inverse_hessian(std::size_t n) {
  return std::make_unique<HostMatrix>(n);
}

UpdateReport update_inverse_hessian(std::span<double> H, const SecantPair& pair, const ScalingRule& rule,
                                    ThreadTeam* team) {
  HostMatrix matrix(H, pair.s.size(), team);
  return update_inverse_hessian(matrix, pair, rule);
}

UpdateReport update_inverse_hessian(InverseHessian& H, const SecantPair& pair, const ScalingRule& rule) {
  const auto& [s, y, alpha, g] = pair;
  const std::size_t n = s.size();
  UpdateReport report;
  const double ys = dot(y, s);
  // Departs from the reference: SciPy sets rho = 1000 if y.s = 0; such a pair carries no curvature and is
  // skipped here.
  if (!(ys > std::numeric_limits<double>::epsilon() * norm(y) * norm(s))) {
    report.message = "no positive curvature along the step; the inverse Hessian is kept";
    return report;
  }
  std::vector<double> Hy(n);
  H.multiply(y, Hy);
  const double yHy = dot(y, Hy);
  const double rho = 1 / ys;
  const double b = -alpha * rho * dot(s, g);
  const double h = rho * yHy;
  report.curvature = {rho, b, h, std::max(0.0, h * b - 1), n};
  if (!(yHy > 0) || !(b > 0) || !std::isfinite(yHy) || !std::isfinite(b) || !std::isfinite(rho)) {
    report.message = "the inverse Hessian is no longer positive definite along the step; it is kept";
    return report;
  }
  report.scaling = rule(report.curvature);
  if (!usable(report.scaling)) {
    report.scaling = {};
    report.message = "the scaling is not finite; plain BFGS update instead";
  }
  const auto [tau, phi] = report.scaling;

  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = rho * s[i] - Hy[i] / yHy;  // v = rho s - H y / (y^T H y)
  const auto p = scaled(Hy, 1 / std::sqrt(tau * yHy));
  const auto q = scaled(v, std::sqrt(std::abs(phi) * yHy / tau));
  const auto r = scaled(s, std::sqrt(rho));
  H.correct({1 / tau, p, q, phi < 0 ? -1.0 : 1.0, r});
  report.applied = true;
  return report;
}

}  // namespace lather::optim
