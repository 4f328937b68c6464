#include "lather/optim/least_squares/spring.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/line_search/grid.hpp"

namespace lather::optim {

SpringOptions SpringOptions::paper() {
  SpringOptions options;
  options.step = Step::limited;
  options.damping = 1e-3;
  options.momentum = 0.99;
  return options;
}

void SpringOptions::fields(FieldVisitor& v) {
  v.choice("step", step,
           "length of a step: limited by learning_rate and norm_constraint, or the best of 1, 1/2, ..., "
           "2^-halvings",
           {{"limited", Step::limited}, {"grid", Step::grid}});
  v.real("learning_rate", learning_rate, "largest multiple of the direction (step=limited)", positive());
  v.real("damping", damping, "lambda, added to the diagonal of J J^T", positive());
  v.real("momentum", momentum, "mu, how much of the direction before is kept", unit_open_right());
  v.real("norm_constraint", norm_constraint, "C, bound of the squared length of a step (step=limited)",
         positive());
  v.integer("halvings", halvings, "smallest step of step=grid is 2^-halvings", non_negative());
  v.real("max_memory", max_memory, "GiB the matrix J J^T may take", positive());
}

// False if the damped matrix is not positive definite in this precision. K_ holds J J^T and is overwritten.
bool Spring::new_direction(Objective& objective, std::span<const double> x, std::span<const double> r,
                           std::vector<double>& phi) {
  const std::size_t m = r.size();
  const double mu = options_.momentum;
  const linalg::MatrixView K{K_.data(), m, m};
  std::vector<double> zeta(m);
  if (mu > 0) objective.jacobian_times(x, phi_, zeta);
  for (std::size_t i = 0; i < m; ++i) {
    zeta[i] = -r[i] - mu * zeta[i];  // zeta = -r - mu J phi_prev
    K(i, i) += options_.damping;
  }
  if (!linalg::cholesky(K)) return false;
  linalg::cholesky_solve(K, zeta);
  objective.transposed_jacobian_times(x, zeta, phi);
  add_scaled(phi, mu, phi_);  // phi = mu phi_prev + J^T (J J^T + lambda I)^{-1} zeta
  return all_finite(phi);
}

StepReport Spring::take_step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "spring");
  const std::size_t m = objective.residual_count();
  const double needed = gibibytes(static_cast<double>(m) * static_cast<double>(m));
  if (needed > options_.max_memory)
    throw MemoryLimitExceeded(
        fmt::format("spring needs {:.1f} GiB for {} residuals, max_memory is {:.1f} GiB; take fewer points",
                    needed, m, options_.max_memory));
  StepReport report;
  diagnostics_.clear();
  if (K_.size() != m * m) K_ = Buffer<double>(m * m);
  std::vector<double> r(m), Jtr(size_), phi(size_);
  objective.residual_gram(x, K_.data(), r);  // K = J J^T
  objective.transposed_jacobian_times(x, r, Jtr);
  report.evaluations = 1;
  const double value = dot(r, r);
  if (!may_step(value, Jtr, report)) return report;
  if (!new_direction(objective, x, r, phi)) {
    report.status = Status::stalled;
    report.message = "J J^T + lambda I is not positive definite in this precision; raise damping";
    return report;
  }
  const double eta =
      options_.step == SpringOptions::Step::grid
          ? grid_search(objective, x, phi, value, options_.halvings, report)
          : std::min(factor_ * options_.learning_rate, std::sqrt(options_.norm_constraint) / norm(phi));
  diagnostics_.push_back({"all", "eta", eta});
  if (eta > 0) {
    move(x, eta, phi, report);
    phi_ = std::move(phi);
  } else if (norm(phi_) > 0) {
    // Not in the paper: the momentum kept points uphill; start afresh.
    std::fill(phi_.begin(), phi_.end(), 0.0);
    report.message = "no step along the direction lowers the loss; momentum reset";
  } else {
    say_stalled(options_.halvings, "the rounding floor may be reached", report);
  }
  return report;
}

void Spring::state(StateVisitor& visitor) {
  visitor.array("phi", std::span<double>(phi_));
  visitor.real("factor", factor_);
}

}  // namespace lather::optim
