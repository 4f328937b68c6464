// What the paper proves about SS-eSOAP, on the code itself.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lather/core/state.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/kronecker/ss_esoap.hpp"
#include "lather/optim/kronecker/ss_esoap_metric.hpp"
#include "small_matrices.hpp"
#include "streams.hpp"

namespace lather::optim {
namespace {

using namespace testing_support;

Mat random_matrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed) {
  const auto values = random_point(static_cast<std::size_t>(rows * cols), seed);
  return Eigen::Map<const Mat>(values.data(), rows, cols);
}

// Arrays of an optimizer's state by name; the first if several share a name.
class StateArrays final : public StateVisitor {
 public:
  explicit StateArrays(Optimizer& optimizer) { optimizer.state(*this); }
  void real(std::string_view, double&) override {}
  void integer(std::string_view, std::int64_t&) override {}
  void array(std::string_view name, std::span<double> values) override {
    arrays_.emplace(name, std::vector<double>(values.begin(), values.end()));
  }
  void array(std::string_view name, std::vector<double>& values) override { array(name, std::span(values)); }
  bool reading() const override { return false; }
  Mat matrix(const std::string& name, Eigen::Index rows, Eigen::Index cols) const {
    return Eigen::Map<const Mat>(arrays_.at(name).data(), rows, cols);
  }

 private:
  std::map<std::string, std::vector<double>> arrays_;
};

// For the first change of basis of a column of weights,
//   ||gamma V_t - V*|| <= (1 - gamma) ||V_t|| + 2 ||C_t||_2 ||I - U||_F + ||C_{t+1} - C_t||_F.
// Before it Q = I and V_t is the diagonal of C_t = L_t; C_{t+1} = Q D Q^T in the new basis, where V* = diag D
// is the variance that Adam would have there.
TEST(Theorems, VarianceMismatchIsBoundedAcrossABasisChange) {
  double tightest = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Eigen::Index d = 2 + static_cast<Eigen::Index>(seed % 7);
    const auto size = static_cast<std::size_t>(d);
    SsEsoapOptions options;
    options.variance_transition = VarianceTransition::downscale;
    options.keep_step_bound = false;
    options.trigger = 0;
    options.warmup_steps = 5 + static_cast<std::int64_t>(seed % 11);
    options.gamma_thresholds = {0.01, 0.1};
    options.gamma_values = {1, 0.75, 0.5};
    const double correlation = std::pow(10, -static_cast<double>(seed % 5));
    const auto rule = random_gradients(seed);
    GradientStream stream(one_matrix(size, 1), [&](std::size_t t, std::span<double> g) {
      rule(t, g);  // uncorrelated to `correlation`, variances in descending order
      for (std::size_t i = 1; i < g.size(); ++i)
        g[i] = std::pow(0.6, static_cast<double>(i)) *
               (correlation * g[i] + std::cos(3. * static_cast<double>(i * t)));
    });
    SsEsoap optimizer(one_matrix(size, 1), options);
    auto x = random_point(size, 1);
    for (std::int64_t t = 0; t < options.warmup_steps; ++t) optimizer.step(stream, x);
    const StateArrays before(optimizer);
    optimizer.step(stream, x);
    ASSERT_EQ(diagnostic(optimizer, "basis_changed"), 1);
    const StateArrays after(optimizer);

    const Mat C = before.matrix("left.factor", d, d), V = before.matrix("v", d, 1);
    EXPECT_LT((V - C.diagonal()).norm(), 1e-14 * V.norm());
    const Mat Q = after.matrix("left.basis", d, d), D = after.matrix("left.factor", d, d);
    const Mat C_next = product({Q, D, Q.transpose()}), I = Mat::Identity(d, d);
    // V after the step is beta2 gamma V_t + (1 - beta2) G~^2, and G~^2 follows from the factors.
    const Mat fresh = product({Q.transpose(), C_next - options.beta2 * C, Q}).diagonal();
    const Mat carried = (after.matrix("v", d, 1) - fresh) / options.beta2;  // gamma V_t
    const double gamma = diagnostic(optimizer, "gamma");
    EXPECT_LT((carried - gamma * V).norm(), 1e-13 * V.norm());

    std::vector<double> eigenvalues(size);
    ASSERT_TRUE(linalg::eigenvalues({C.data(), size, size}, eigenvalues));
    const double left = (carried - Mat(D.diagonal())).norm();
    const double right =
        (1 - gamma) * V.norm() + 2 * eigenvalues[0] * (I - Q.transpose()).norm() + (C_next - C).norm();
    EXPECT_LE(left, right * (1 + 1e-12)) << seed;
    tightest = std::max(tightest, left / right);
  }
  EXPECT_GT(tightest, 0.5);  // the bound is not vacuous on these data
}

// tau = min(1, c / a) minimizes [log(c / (tau a))]^2 over (0, 1], a = s^T K s with K = R^-1 (x) L^-1 written
// out.
TEST(Theorems, SelfScalingMatchesTheSecantEnergy) {
  int clipped = 0, active = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Eigen::Index m = 2 + static_cast<Eigen::Index>(seed % 4),
                       n = 2 + static_cast<Eigen::Index>(seed % 3);
    const Mat FL = random_matrix(m, m + 2, 10 * seed + 1), FR = random_matrix(n, n + 2, 10 * seed + 2),
              S = random_matrix(m, n, 10 * seed + 3);
    KroneckerPair K(static_cast<std::size_t>(m), static_cast<std::size_t>(n), 100, 0);
    const Mat L = product({FL, FL.transpose()}), R = product({FR, FR.transpose()});
    linalg::eigen(K.left.factor_view()) = L;
    linalg::eigen(K.right.factor_view()) = R;
    const Mat L_inverse = inverse(L), R_inverse = inverse(R);
    double quadratic_form = 0;
    for (Eigen::Index i = 0; i < m; ++i)
      for (Eigen::Index j = 0; j < n; ++j)
        for (Eigen::Index k = 0; k < m; ++k)
          for (Eigen::Index l = 0; l < n; ++l)
            quadratic_form += S(i, j) * L_inverse(i, k) * R_inverse(j, l) * S(k, l);
    const double a = paper_metric_exact(K, {S.data(), static_cast<std::size_t>(S.size())}, 0);
    EXPECT_NEAR(a, quadratic_form, 1e-9 * quadratic_form);

    // y = H s + r with H positive definite: c = s^T H s + s^T r
    const double c = a * std::exp(2 * random_point(1, 10 * seed + 4)[0]);
    const double tau = self_scaling(c, a, 1e-300, 1);
    const auto mismatch = [&](double value) { return std::pow(std::log(c / (value * a)), 2); };
    for (int k = 1; k <= 1000; ++k) EXPECT_LE(mismatch(tau), mismatch(k / 1000.0) + 1e-12);
    if (c < a) {
      EXPECT_NEAR(tau * a, c, 1e-14 * c);  // the scaled energy is the secant's
      ++active;
    } else {
      EXPECT_EQ(tau, 1);
      ++clipped;
    }
  }
  EXPECT_GT(active, 20);
  EXPECT_GT(clipped, 20);
}

// Tr(S^T L^-1 S R^-1) = sum S~^2 / (D_L D_R) right after a basis change, where the factors are diagonal in
// the basis.
TEST(Theorems, TheTraceIdentityHoldsInTheEigenbasis) {
  const std::size_t m = 6, n = 4;
  KroneckerPair K(m, n, 100, 0);
  for (std::size_t i = 0; i < m; ++i) K.left.factor[i * m + i] = std::pow(0.3, static_cast<double>(i));
  for (std::size_t i = 0; i < n; ++i) K.right.factor[i * n + i] = std::pow(0.2, static_cast<double>(i));
  const auto S = random_point(m * n, 3);
  const double exact = paper_metric_exact(K, S, 0);
  EXPECT_NEAR(paper_metric_rayleigh(K, S, 0), exact, 1e-13 * exact);
  K.right.factor[0] = 0;
  EXPECT_EQ(paper_metric_exact(K, S, 0), HUGE_VAL);
  EXPECT_EQ(self_scaling(1, HUGE_VAL, 0.25, 1), 0.25);
}

}  // namespace
}  // namespace lather::optim
