#include "lather/optim/least_squares/engd.hpp"

#include <fmt/format.h>

#include <limits>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/line_search/grid.hpp"

namespace lather::optim {

void EngdOptions::fields(FieldVisitor& v) {
  v.real("damping", damping,
         "added to the diagonal of the Gramian, which is then solved by Cholesky; 0: pseudo-inverse by "
         "eigenvectors, as in the paper",
         non_negative());
  v.real("cutoff", cutoff,
         "eigenvalues below this part of the largest count as zero in the pseudo-inverse; 0: machine epsilon "
         "times the number of parameters, as in the paper",
         non_negative());
  v.integer("halvings", halvings, "the line search tries steps 1, 1/2, ..., 2^-halvings", non_negative());
  v.real("max_memory", max_memory, "GiB the matrices may take", positive());
}

Engd::Engd(const ParameterLayout& layout, const EngdOptions& options)
    : Optimizer(layout), size_(layout.size()), options_(options) {
  const double needed = gibibytes(2.0 * static_cast<double>(size_) * static_cast<double>(size_));
  if (needed > options.max_memory)
    throw MemoryLimitExceeded(fmt::format(
        "engd needs {:.1f} GiB for {} parameters, max_memory is {:.1f} GiB; spring and lm have forms for "
        "large networks",
        needed, size_, options.max_memory));
}

// False if the damped Gramian is not positive definite in this precision.
bool Engd::solve(std::span<const double> gradient, std::span<double> xi) {
  const linalg::MatrixView G{G_.data(), size_, size_};
  if (options_.damping > 0) {
    for (std::size_t i = 0; i < size_; ++i) G(i, i) += options_.damping;
    std::copy(gradient.begin(), gradient.end(), xi.begin());
    if (!linalg::cholesky(G)) return false;
    linalg::cholesky_solve(G, xi);
    return true;
  }
  if (Q_.size() == 0) Q_ = Buffer<double>(size_ * size_);
  const linalg::MatrixView Q{Q_.data(), size_, size_};
  std::vector<double> s(size_), c(size_);
  if (!linalg::eigenvectors(G, s, Q)) return false;
  const double machine = std::numeric_limits<double>::epsilon() * static_cast<double>(size_);
  const double cutoff = s[0] * (options_.cutoff > 0 ? options_.cutoff : machine);
  double rank = 0;
  linalg::multiply_left_transposed({c.data(), size_, 1}, Q, {gradient.data(), size_, 1});
  for (std::size_t i = 0; i < size_; ++i) {
    rank += s[i] > cutoff;
    c[i] = s[i] > cutoff ? c[i] / s[i] : 0;
  }
  linalg::multiply({xi.data(), size_, 1}, Q, {c.data(), size_, 1});  // xi = G^+ grad L
  diagnostics_.push_back({"all", "rank", rank});
  return true;
}

StepReport Engd::take_step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "engd");
  StepReport report;
  diagnostics_.clear();
  if (G_.size() == 0) G_ = Buffer<double>(size_ * size_);
  std::vector<double> Jtr(size_), gradient(size_), direction(size_);
  const double value = objective.normal_equations(x, G_.data(), Jtr);  // G = J^T J
  report.evaluations = 1;
  if (!may_step(value, Jtr, report)) return report;
  for (std::size_t i = 0; i < size_; ++i) gradient[i] = -2 * Jtr[i];
  if (!solve(gradient, direction)) {  // -xi
    report.status = Status::stalled;
    report.message = "the Gramian is not positive definite in this precision; raise damping, or set it to 0";
    return report;
  }
  const double eta = grid_search(objective, x, direction, value, options_.halvings, report);
  diagnostics_.push_back({"all", "eta", eta});
  if (eta == 0)
    say_stalled(options_.halvings, "rounding, or eigenvalues below the cut-off, leave no descent", report);
  else
    move(x, eta, direction, report);
  return report;
}

}  // namespace lather::optim
