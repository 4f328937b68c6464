#include "lather/optim/least_squares/output_layer/gauss_newton.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/solvers/residual_rounding.hpp"

namespace lather::optim {

namespace {

constexpr double kFall = 1e4;        // factor by which the cutoff falls
constexpr double kGrowth = 10;       // largest growth of a direction that stays in what J sees
constexpr double kRounding = 1e-2;   // relative rounding of a value that may be rounding alone
constexpr double kWorthwhile = 0.5;  // of the value, to be promised by a larger cutoff if the least one fails

}  // namespace

void GaussNewtonOptions::fields(FieldVisitor& v) {
  v.real("cutoff", cutoff,
         "singular values of J, its columns scaled to norm 1, below about this part of the largest count as "
         "zero",
         positive());
  v.real("first_cutoff", first_cutoff,
         "the cutoff of the first step; it falls to `cutoff`, 10,000 times at once", positive());
  v.real("enough", enough,
         "the cutoff falls where |r + J d|^2 is more than this part of |r|^2, or d hardly grows by it",
         unit_open_right());
  v.real("tolerance", tolerance,
         "converged when a step promises to lower the loss by less than this part of it", unit_open_right());
  v.integer("halvings", halvings, "shorter steps tried along a direction, each half as long as the last",
            non_negative());
  v.integer("tries", tries, "cutoffs tried, each 100 times the last, before a step counts as failed",
            at_least(1));
}

GaussNewton::GaussNewton(const ParameterLayout& layout, const GaussNewtonOptions& options)
    : Optimizer(layout),
      size_(layout.size()),
      options_(options),
      direction_(size_),
      trial_(size_),
      cutoff_(std::max(options.cutoff, options.first_cutoff)) {}

// The residuals at x, and their squares in the precision used to judge steps.
void GaussNewton::take_value(Residuals& source, std::span<const double> x, StepReport& report) {
  residuals_.resize(source.residual_count());
  source.residuals(x, residuals_);
  near_rounding_ = is_near_rounding(linear_->value());
  value_ = near_rounding_ ? compensated_squares(residuals_) : linear_->value();
  report.loss = value_;
}

// |r + J d|^2. The decrease the damped model promises, d.(lambda D d - J^T r), is lost in rounding if J is
// ill-conditioned.
double GaussNewton::value_of_model(Residuals& source, std::span<const double> x) const {
  std::vector<double> w(residuals_.size());
  source.jacobian_times(x, direction_, w);
  for (std::size_t k = 0; k < w.size(); ++k) w[k] += residuals_[k];
  return near_rounding_ ? compensated_squares(w) : dot(w, w);
}

// The direction for a cutoff; returns |r + J d|^2, infinite if there is none.
double GaussNewton::solve(Residuals& source, std::span<const double> x, double cutoff) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (!linear_->damp(lambda(cutoff))) return kNone;
  linear_->solve(direction_);
  return all_finite(direction_) ? value_of_model(source, x) : kNone;
}

// Lowers the cutoff as long as the direction leaves too much of the value, or grows little as a result; keeps
// the direction that leaves least.
double GaussNewton::descend(Residuals& source, std::span<const double> x) {
  double left = solve(source, x, cutoff_);
  std::vector<double> kept;
  for (double cutoff = cutoff_; cutoff > options_.cutoff;) {
    kept = direction_;
    cutoff = std::max(cutoff / kFall, options_.cutoff);
    const double deeper = solve(source, x, cutoff);
    const bool enough = left <= options_.enough * value_;
    if (deeper <= left && (!enough || norm(direction_) <= kGrowth * norm(kept))) {
      left = deeper;
      cutoff_ = cutoff;
      continue;
    }
    direction_ = kept;
    if (enough) break;
  }
  return left;
}

// The first of the lengths 1, 1/2, 1/4, … that lowers the value by a tenth of its share of what is promised,
// or 0; the point goes to trial_.
double GaussNewton::search(Objective& objective, std::span<const double> x, double promised,
                           StepReport& report) {
  double length = 1;
  for (std::int64_t halving = 0; halving <= options_.halvings; ++halving, length /= 2) {
    for (std::size_t i = 0; i < size_; ++i) trial_[i] = x[i] + length * direction_[i];
    trial_values(objective, trial_, near_rounding_, std::span(&value_after_, 1));
    ++report.evaluations;
    if (value_after_ <= value_ - 0.1 * length * promised)  // false for NaN
      return length;
  }
  return 0;
}

StepReport GaussNewton::take_step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "gauss-newton");
  Residuals& source = objective.source();
  if (!linear_ || !linear_->fits(source)) {
    linear_ = nullptr;  // frees its memory for the next one
    linear_ = make_linearization(
        source,
        {.form = LeastSquaresForm::orthogonal, .damping = DampingMatrix::marquardt, .damp_whole = true});
  }
  StepReport report;
  diagnostics_.clear();
  linear_->build(x);
  report.evaluations = 1;
  if (!may_step(linear_->value(), linear_->Jtr(), report)) return report;
  if (steps_++ == 0) report.message = linear_->description();
  take_value(source, x, report);

  double cutoff = cutoff_;
  bool lost = false;  // in rounding: the least cutoff's step is worse than none
  for (std::int64_t attempt = 0; attempt < options_.tries; ++attempt, cutoff *= 100) {
    const double left = attempt == 0 ? descend(source, x) : solve(source, x, cutoff);
    if (attempt == 0) cutoff = cutoff_;
    if (!std::isfinite(left)) continue;
    const double promised = value_ - left;
    if (attempt == 0) lost = promised < -options_.tolerance * value_;
    if (lost && promised < kWorthwhile * value_) continue;
    if (attempt == 0 && promised <= options_.tolerance * value_) {
      report.status = Status::converged;
      report.message = fmt::format(
          "Gauss-Newton has converged: a step promises to lower the loss by {:.1e} of it", promised / value_);
    }
    const double length = promised > 0 ? search(objective, x, promised, report) : 0;
    // A step that fits rounding promises parameters / residuals of the loss, and does not deliver it.
    const double kept = length > 0 ? value_ - value_after_ : 0;
    if (report.status == Status::running && attempt == 0 && promised < 0.5 * value_ &&
        kept < 0.5 * promised && rounding_of_value(objective, x) > kRounding * value_) {
      report.status = Status::converged;
      report.message = fmt::format(
          "rounding floor reached: a step promises to lower the loss by {:.1e} of it and lowers it by {:.1e}",
          promised / value_, kept / value_);
    }
    if (length == 0 && report.status == Status::converged) return report;
    if (length == 0) continue;
    move(x, length, direction_, report);
    diagnostics_.push_back({"all", "lambda", lambda(cutoff)});
    diagnostics_.push_back({"all", "length", length});
    return report;
  }
  report.status = lost ? Status::converged : Status::stalled;
  if (lost)
    report.message = fmt::format(
        "rounding floor reached: the step of the least cutoff is worse than none, and none of {} cutoffs "
        "halves the loss",
        options_.tries);
  else if (rounding_of_value(objective, x) > kRounding * value_)
    report.message =
        fmt::format("no length and none of {} cutoffs lowers the loss; the rounding floor may be reached",
                    options_.tries);
  else
    report.message = fmt::format(
        "no length down to {:g} of a step and none of {} cutoffs lowers the loss, which is far above "
        "rounding; more "
        "halvings (optimizer.halvings) or lm may help",
        std::ldexp(1.0, -static_cast<int>(options_.halvings)), options_.tries);
  return report;
}

std::size_t GaussNewton::memory_bytes() const {
  return linear_ ? linear_->bytes() : 2 * sizeof(double) * size_ * size_;
}

void GaussNewton::state(StateVisitor& visitor) {
  visitor.integer("steps", steps_);
  visitor.real("cutoff", cutoff_);
}

}  // namespace lather::optim
