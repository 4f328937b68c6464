#include "lather/optim/least_squares/anagram.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/line_search/grid.hpp"

namespace lather::optim {

void AnagramOptions::fields(FieldVisitor& v) {
  v.choice("rows", rows,
           "rows of the decomposed matrix: residuals as the equations state them (the paper), or with the "
           "weights of the loss",
           {{"bare", Rows::bare}, {"weighted", Rows::weighted}});
  v.real("cutoff", cutoff,
         "singular values below this part of the largest count as zero; 0: sqrt(machine epsilon times "
         "parameters), as in the paper",
         non_negative());
  v.real("absolute_cutoff", absolute_cutoff, "singular values below this count as zero as well",
         non_negative());
  v.integer("halvings", halvings, "the line search tries steps 1, 1/2, ..., 2^-halvings", non_negative());
  v.real("max_memory", max_memory, "GiB the Jacobian and its decomposition may take", positive());
}

StepReport Anagram::take_step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "anagram");
  const std::size_t m = objective.residual_count(), n = size_, k = std::min(m, n);
  // Phi, Eigen's copy of it, and U and V twice.
  const double needed = gibibytes(2.0 * static_cast<double>(m * n) + 2.0 * static_cast<double>((m + n) * k));
  if (needed > options_.max_memory)
    throw MemoryLimitExceeded(fmt::format(
        "anagram needs {:.1f} GiB for {} residuals and {} parameters, max_memory is {:.1f} GiB; take fewer "
        "points, or lm",
        needed, m, n, options_.max_memory));
  StepReport report;
  diagnostics_.clear();
  std::vector<double> Phi(m * n), rho(m), Jtr(n);
  objective.residuals(x, rho);
  objective.jacobian_rows(x, 0, m, Phi.data());
  report.evaluations = 1;
  const linalg::MatrixView Phi_view{Phi.data(), m, n};
  linalg::multiply_left_transposed({Jtr.data(), n, 1}, Phi_view, {rho.data(), m, 1});
  const double value = dot(rho, rho);
  if (!may_step(value, Jtr, report)) return report;

  if (options_.rows == AnagramOptions::Rows::bare) {
    std::vector<double> scales(m);
    objective.residual_scales(scales);
    for (std::size_t i = 0; i < m; ++i) {
      if (scales[i] == 0) continue;  // the row is zero
      rho[i] /= scales[i];
      for (std::size_t j = 0; j < n; ++j) Phi[i * n + j] /= scales[i];
    }
  }
  std::vector<double> U(m * k), Lambda(k), V(n * k), c(k), direction(n);
  if (!linalg::thin_svd(Phi_view, {U.data(), m, k}, Lambda, {V.data(), n, k})) {  // Phi = U Lambda V^T
    report.status = Status::non_finite;
    report.message = "the Jacobian of the residuals is not finite";
    return report;
  }
  const double relative = options_.cutoff > 0
                              ? options_.cutoff
                              : std::sqrt(std::numeric_limits<double>::epsilon() * static_cast<double>(n));
  const double cutoff = std::max(relative * Lambda[0], options_.absolute_cutoff);
  linalg::multiply_left_transposed({c.data(), k, 1}, {U.data(), m, k}, {rho.data(), m, 1});
  double rank = 0;
  for (std::size_t i = 0; i < k; ++i) {
    rank += Lambda[i] > cutoff;
    c[i] = Lambda[i] > cutoff ? -c[i] / Lambda[i] : 0;
  }
  linalg::multiply({direction.data(), n, 1}, {V.data(), n, k}, {c.data(), k, 1});  // -d = -V Lambda^+ U^T rho
  const double eta = grid_search(objective, x, direction, value, options_.halvings, report);
  diagnostics_.push_back({"all", "rank", rank});
  diagnostics_.push_back({"all", "eta", eta});
  if (eta == 0)
    say_stalled(options_.halvings, "rounding, or singular values below the cut-off, leave no descent",
                report);
  else
    move(x, eta, direction, report);
  return report;
}

}  // namespace lather::optim
