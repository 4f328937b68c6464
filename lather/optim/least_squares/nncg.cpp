#include "lather/optim/least_squares/nncg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/core/rng.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/solvers/conjugate_gradients.hpp"
#include "lather/optim/line_search/armijo.hpp"

namespace lather::optim {

void NysNewtonCgOptions::fields(FieldVisitor& v) {
  v.choice("hessian", hessian,
           "products with the Hessian: central differences of the gradient (the paper's exact Hessian, up to "
           "rounding), or the Gauss-Newton matrix",
           {{"differences", Hessian::differences}, {"gauss-newton", Hessian::gauss_newton}});
  v.real("damping", damping, "mu, added to the diagonal of the Hessian", positive());
  v.integer("rank", rank, "of the preconditioner", at_least(1));
  v.integer("refresh_every", refresh_every, "steps between new preconditioners", at_least(1));
  v.real("cg_tolerance", cg_tolerance, "relative residual at which conjugate gradients stop", positive());
  v.integer("cg_iterations", cg_iterations, "most conjugate gradient iterations per step", at_least(1));
  v.real("sufficient_decrease", sufficient_decrease, "Armijo's constant", between(0, 1));
  v.real("backtracking", backtracking, "factor of a step that was too long", {0, 1, true, true});
  v.integer("seed", seed, "of the random sketch", non_negative());
}

NysNewtonCg::NysNewtonCg(const ParameterLayout& layout, const NysNewtonCgOptions& options)
    : options_(options),
      rank_(std::min<std::size_t>(static_cast<std::size_t>(options.rank), layout.size())),
      d_(layout.size()) {}

void NysNewtonCg::hessian_times(Objective& objective, std::span<const double> x, std::span<const double> v,
                                std::span<double> Hv, StepReport& report) const {
  if (options_.hessian == NysNewtonCgOptions::Hessian::gauss_newton) {
    std::vector<double> Jv(objective.residual_count());
    objective.jacobian_times(x, v, Jv);
    objective.transposed_jacobian_times(x, Jv, Hv);
    for (double& value : Hv) value *= 2;
    report.evaluations += 2;
    return;
  }
  const double h = std::cbrt(std::numeric_limits<double>::epsilon()) * (1 + norm(x)) / norm(v);
  std::vector<double> shifted(x.begin(), x.end()), minus(x.size());
  add_scaled(shifted, -h, v);
  objective.value_and_gradient(shifted, minus);
  std::copy(x.begin(), x.end(), shifted.begin());
  add_scaled(shifted, h, v);
  objective.value_and_gradient(shifted, Hv);
  for (std::size_t i = 0; i < x.size(); ++i) Hv[i] = (Hv[i] - minus[i]) / (2 * h);
  report.evaluations += 2;
}

namespace {

// Random orthonormal rows: Gram–Schmidt, twice for orthogonality to rounding.
std::vector<double> orthonormal_rows(std::size_t rows, std::size_t n, const Random& random) {
  std::vector<double> Q(rows * n);
  for (std::size_t i = 0; i < Q.size(); ++i) Q[i] = random.normal(i);
  for (std::size_t k = 0; k < rows; ++k) {
    const std::span<double> q(&Q[k * n], n);
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < k; ++j) {
        const std::span<const double> other(&Q[j * n], n);
        add_scaled(q, -dot(q, other), other);
      }
    const double length = norm(q);
    for (double& value : q) value /= length;
  }
  return Q;
}

}  // namespace

// Randomized Nyström approximation: Y = H Phi, C C^T = Phi^T Y, B = C^{-1} Y^T, svd of B. False if it cannot
// be had.
bool NysNewtonCg::sketch(Objective& objective, std::span<const double> x, StepReport& report) {
  const std::size_t n = x.size(), k = rank_;
  const Random random(static_cast<std::uint64_t>(options_.seed), static_cast<std::uint64_t>(steps_));
  const auto Phi = orthonormal_rows(k, n, random);  // Phi^T
  std::vector<double> Y(k * n), M(k * k), C(k * k), eigenvalues(k), V(k * k);
  for (std::size_t i = 0; i < k; ++i) hessian_times(objective, x, {&Phi[i * n], n}, {&Y[i * n], n}, report);
  const linalg::MatrixView C_view{C.data(), k, k}, M_view{M.data(), k, k};
  linalg::multiply_right_transposed(M_view, {Phi.data(), k, n}, {Y.data(), k, n});
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < i; ++j) M[i * k + j] = M[j * k + i] = (M[i * k + j] + M[j * k + i]) / 2;
  if (!linalg::eigenvalues(M_view, eigenvalues)) return false;
  // Departs from the paper: the shift is relative to H; a fixed machine epsilon is nothing beside a large
  // one.
  double shift = std::numeric_limits<double>::epsilon() * std::max(eigenvalues.front(), -eigenvalues.back());
  for (int attempt = 0; attempt < 2; ++attempt) {
    C = M;
    for (std::size_t i = 0; i < k; ++i) C[i * (k + 1)] += shift;
    if (linalg::cholesky(C_view)) {
      add_scaled(Y, shift, Phi);
      linalg::solve_lower(C_view, {Y.data(), k, n});  // B
      U_.assign(n * k, 0.0);
      Lambda_.assign(k, 0.0);
      std::vector<double> columns(n * k);
      if (!linalg::thin_svd({Y.data(), k, n}, {V.data(), k, k}, Lambda_, {columns.data(), n, k}))
        return false;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < k; ++j) U_[j * n + i] = columns[i * k + j];
      for (double& value : Lambda_) value = std::max(value * value - shift, 0.0);
      return true;
    }
    shift += 2 * std::max(-eigenvalues.back(), shift);
  }
  return false;
}

void NysNewtonCg::precondition(std::span<const double> r, std::span<double> z) const {
  std::copy(r.begin(), r.end(), z.begin());
  if (U_.empty()) return;
  const double mu = options_.damping;
  for (std::size_t j = 0; j < rank_; ++j) {
    const std::span<const double> u(&U_[j * r.size()], r.size());
    add_scaled(z, ((Lambda_.back() + mu) / (Lambda_[j] + mu) - 1) * dot(u, r), u);
  }
}

// (H + mu I) d = g, from the d of the step before.
void NysNewtonCg::newton_direction(Objective& objective, std::span<const double> x, StepReport& report) {
  const auto product = [&](std::span<const double> p, std::span<double> Ap) {
    hessian_times(objective, x, p, Ap, report);
    add_scaled(Ap, options_.damping, p);
  };
  const auto inverse = [&](std::span<const double> r, std::span<double> z) { precondition(r, z); };
  const auto result =
      conjugate_gradients(product, inverse, point_.g, d_, {options_.cg_tolerance, options_.cg_iterations});
  diagnostics_.push_back({"all", "cg_iterations", static_cast<double>(result.iterations)});
  diagnostics_.push_back({"all", "cg_residual", result.residual});
  if (result.negative_curvature) report.message = "negative curvature met; conjugate gradients ended early";
  // Not in the paper: an indefinite Hessian may give a direction that does not descend; the gradient does.
  if (!all_finite(d_) || !(dot(point_.g, d_) > 0)) d_ = point_.g;
}

StepReport NysNewtonCg::step(Objective& objective, std::span<double> x) {
  if (options_.hessian == NysNewtonCgOptions::Hessian::gauss_newton)
    require_residuals(objective, "nncg with hessian=gauss-newton", x);
  StepReport report;
  diagnostics_.clear();
  point_.evaluate(objective, x, 0, report);
  if (report.status != Status::running) return report;
  if (steps_ % options_.refresh_every == 0 && !sketch(objective, x, report)) U_.clear();
  ++steps_;
  newton_direction(objective, x, report);

  std::vector<double> direction(d_.size());
  const ArmijoOptions armijo_options{.c1 = options_.sufficient_decrease, .shrink = options_.backtracking};
  const auto search = [&] {
    std::transform(d_.begin(), d_.end(), direction.begin(), std::negate<>());
    const LinePoint start{0, point_.f, dot(point_.g, direction), point_.g};
    Ray ray(objective, x, direction);
    auto result = armijo(ray, start, armijo_options);
    report.evaluations += ray.evaluations();
    return result;
  };
  auto result = search();
  if (!result.success && d_ != point_.g) {
    // Not in the paper: at rounding level, or after a poor solve, the gradient itself may still help.
    d_ = point_.g;
    result = search();
  }
  if (!result.success) {
    report.status = Status::stalled;
    report.message = result.message;
    return report;
  }
  diagnostics_.push_back({"all", "t", result.point.t});
  report.step_norm = point_.move(std::move(result.point), direction, x);
  return report;
}

void NysNewtonCg::state(StateVisitor& visitor) {
  visitor.integer("steps", steps_);
  visitor.array("U", U_);
  visitor.array("Lambda", Lambda_);
  visitor.array("d", std::span<double>(d_));
  point_.state(visitor);
}

}  // namespace lather::optim
