#include "lather/optim/least_squares/least_squares.hpp"

#include <fmt/format.h>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {

void require_residuals(const Objective& objective, std::string_view method) {
  if (objective.residual_count() == 0)
    throw Error(fmt::format("{} needs an objective that is a sum of squared residuals", method));
}

bool may_step(double value, std::span<const double> Jtr, StepReport& report) {
  report.loss = value;
  report.gradient_norm = 2 * norm(Jtr);
  if (!std::isfinite(value) || !std::isfinite(report.gradient_norm)) {
    report.status = Status::non_finite;
    report.message =
        std::isfinite(value) ? "the Jacobian of the residuals is not finite" : "the residuals are not finite";
  } else if (report.gradient_norm == 0) {
    report.status = Status::converged;
    report.message =
        value == 0 ? "all residuals are exactly zero" : "the gradient is exactly zero, the residuals are not";
  }
  return report.status == Status::running;
}

void move(std::span<double> x, double eta, std::span<const double> d, StepReport& report) {
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double moved = x[i] + eta * d[i];
    squares += (moved - x[i]) * (moved - x[i]);
    x[i] = moved;
  }
  report.step_norm = std::sqrt(squares);
}

double gibibytes(double numbers) { return numbers * sizeof(double) / kGiB; }

}  // namespace lather::optim
