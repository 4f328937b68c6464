// Letters: r residuals, J their Jacobian, D the damping matrix (identity or diag(J^T J)), lambda its
// strength, d the step, a its geodesic acceleration, s its length.
//
//   (J^T J + lambda D) d = -J^T r                     linear_->damp_and_solve
//   |d(lambda)| <= longest_step (1 + |x|)             solve_within_limit
//   (J^T J + lambda D) a = -J^T r''                   accelerate: r'' the second difference of r along d
//   x <- x + s d + s^2/2 a,   s = 1, 1/2, 1/4, ...    search_length
//   lambda by s, by the gain ratio, or by a target    adapt_damping, decrease_by_target

#include "lather/optim/least_squares/levenberg_marquardt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/core/error.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/formulas/geodesic.hpp"
#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/solvers/residual_rounding.hpp"
#include "lather/optim/least_squares/solvers/secular.hpp"

namespace lather::optim {

namespace {

// Cholesky of J^T J + lambda D sees nothing below the rounding of the largest eigenvalue, which is at most
// the trace, n times the mean of the diagonal: lambda stays above this times n.
constexpr double kCholeskyFloor = std::numeric_limits<double>::epsilon();

constexpr double kDifference = 0.1;  // step of the second difference along d: Transtrum & Sethna
constexpr double kHidden = 10;       // times its rounding: decreases of the loss that may be hidden by it

}  // namespace

LevenbergMarquardt::LevenbergMarquardt(const ParameterLayout& layout,
                                       const LevenbergMarquardtOptions& options)
    : Optimizer(layout), size_(layout.size()), options_(options), direction_(size_), acceleration_(size_) {
  if (options.form == Form::dual && options.damping == DampingMatrix::marquardt)
    throw Error(
        "lm: damping=marquardt scales parameters, which the dual form (residuals × residuals) does not see; "
        "use form=primal, form=qr or form=cg, or damping=identity");
  if (static_cast<std::size_t>(options.sketch_size) > size_)
    throw Error(
        fmt::format("lm: sketch_size = {} exceeds the number of parameters, {}", options.sketch_size, size_));
}

void LevenbergMarquardt::objective_changed() {
  floor_.objective_changed();
  preconditioned_at_.clear();
}

StepReport LevenbergMarquardt::take_step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "lm");
  StepReport report;
  if (lambda_ < 0) lambda_ = options_.initial_damping;
  r_.clear();
  linearize(objective, x, report);
  take_value(objective, x, report);
  diagnostics_.clear();
  if (!may_step(value_, linear_->Jtr(), report)) return report;
  renew_preconditioner(x);
  if (steps_++ == 0) report.message = linear_->description();

  const double least = least_damping();
  double gain = try_step(objective, x, report);
  if (report.status == Status::stalled && turn_orthogonal(objective, x, report)) {
    report.status = Status::running;
    report.message = linear_->description();
    lambda_ = least;
    gain = try_step(objective, x, report);
  }
  judge_preconditioner();
  diagnostics_.push_back({"all", "lambda", lambda_});
  diagnostics_.push_back({"all", "gain", gain});
  if (linear_->form() == Form::conjugate_gradients)
    diagnostics_.push_back({"all", "cg_iterations", static_cast<double>(linear_->most_cg_iterations())});
  else if (options_.spectrum_every > 0 && steps_ % options_.spectrum_every == 0)
    report_spectrum();
  return report;
}

// Includes the path for the first lambda, which is usually the one taken, if that costs no waiting.
void LevenbergMarquardt::linearize(Objective& objective, std::span<const double> x, StepReport& report) {
  Linearization& linear = linearization_of(objective);
  path_.reset();
  report.evaluations = 1;
  if (options_.acceleration && options_.adaptation != Adaptation::target && options_.halvings > 0)
    path_ = linear.build_along_path(x, lambda_, kDifference);
  if (path_)
    report.evaluations += 5;  // three residuals, two values
  else
    linear.build(x, steps_);
}

// A Nyström approximation at the x of some steps ago is kept as long as it does not cost iterations: it
// suppresses directions that no longer matter. A resumed run rebuilds it.
void LevenbergMarquardt::renew_preconditioner(std::span<const double> x) {
  if (linear_->form() != Form::conjugate_gradients || options_.preconditioner != Preconditioner::nystrom)
    return;
  if (preconditioned_at_.empty() || steps_ - preconditioner_step_ >= options_.refresh_every) {
    preconditioned_at_.assign(x.begin(), x.end());
    preconditioner_step_ = steps_;
    fresh_iterations_ = 0;
  } else if (linear_->has_preconditioner()) {
    return;
  }
  linear_->precondition(preconditioned_at_, preconditioner_step_);
}

void LevenbergMarquardt::judge_preconditioner() {
  constexpr std::int64_t kWorse = 2, kFew = 10;  // a new one costs about as much as some tens of iterations
  if (preconditioned_at_.empty()) return;
  const std::int64_t iterations = linear_->most_cg_iterations();
  if (fresh_iterations_ == 0)
    fresh_iterations_ = std::max<std::int64_t>(1, iterations);
  else if (iterations > kWorse * fresh_iterations_ + kFew)
    preconditioned_at_.clear();
}

void LevenbergMarquardt::take_value(Objective& objective, std::span<const double> x, StepReport& report) {
  value_ = linear_->value();
  near_rounding_ = is_near_rounding(value_);
  if (!near_rounding_) return;
  if (r_.empty()) {
    r_.resize(objective.residual_count());
    objective.residuals(x, r_);
    ++report.evaluations;
  }
  value_ = compensated_squares(r_);
}

// Values at all points of trials_, in one batch.
void LevenbergMarquardt::evaluate_trials(Objective& objective, StepReport& report) {
  values_.resize(trials_.size() / size_);
  report.evaluations += static_cast<int>(values_.size());
  trial_values(objective, trials_, near_rounding_, values_);
}

double LevenbergMarquardt::try_step(Objective& objective, std::span<double> x, StepReport& report) {
  promised_ = 0;
  return options_.adaptation == Adaptation::target ? decrease_by_target(objective, x, report)
                                                   : decrease(objective, x, report);
}

// a from the second difference of r along d, for the same lambda; zero if the path bends too much,
// which makes its quadratic model useless. The three r are one batch; the one at x serves every lambda.
void LevenbergMarquardt::accelerate(Objective& objective, std::span<const double> x, StepReport& report) {
  if (foreseen()) {
    acceleration_ = path_->a;
    return;
  }
  const std::size_t m = objective.residual_count();
  trials_.clear();
  for (const double s : {kDifference, -kDifference})
    for (std::size_t i = 0; i < size_; ++i) trials_.push_back(x[i] + s * direction_[i]);
  if (r_.empty()) trials_.insert(trials_.end(), x.begin(), x.end());
  std::vector<double> bend(m), r(trials_.size() / size_ * m);
  objective.residuals_at(trials_, r);
  report.evaluations += static_cast<int>(trials_.size() / size_);
  if (r_.empty()) r_.assign(r.end() - static_cast<std::ptrdiff_t>(m), r.end());
  for (std::size_t k = 0; k < m; ++k) bend[k] = second_difference(r_[k], r[k], r[m + k], kDifference);
  bool follows = all_finite(bend);
  if (follows) {
    linear_->solve_for(bend, acceleration_);
    follows = all_finite(acceleration_) && path_bends_little(norm(acceleration_), norm(direction_));
  }
  if (!follows) std::fill(acceleration_.begin(), acceleration_.end(), 0.0);
}

// The step for lambda_; if that is too long and is to be shortened, a step of about the length allowed, whose
// lambda is then adopted. False if there is none. A longer step leads to a network with saturated
// activations: nearly constant, with a gradient near zero and a loss that may well be lower.
bool LevenbergMarquardt::solve_within_limit(std::span<const double> x, TooLong then) {
  at_limit_ = false;
  const auto solve = [&](double lambda) {
    if (!path_ || path_->lambda != lambda)
      return linear_->damp_and_solve(lambda, direction_) && all_finite(direction_);
    direction_ = path_->d;
    return path_->positive_definite && all_finite(direction_);
  };
  if (!solve(lambda_)) return false;
  const double limit = options_.longest_step * (1 + norm(x));
  if (limit == 0 || norm(direction_) <= limit) return true;
  if (then == TooLong::reject) return false;
  const auto lambda = solve_secular(
      [&](double at) {
        if (at != linear_->lambda() && !solve(at)) return StepLength{};
        return StepLength{norm(direction_), linear_->shrinkage(direction_)};
      },
      lambda_, 0.9 * limit);
  if (!lambda || *lambda > options_.largest_damping) return false;
  lambda_ = *lambda;
  at_limit_ = true;
  return true;
}

// The best of the lengths 1, 1/2, 1/4, … along the path; the search ends once the value rises again. 0: none
// lowers the value. A value is cheap compared with J^T J. Until one lowers it, the next two are needed
// whatever the first of them gives, so they form one batch.
double LevenbergMarquardt::search_length(Objective& objective, std::span<const double> x, StepReport& report,
                                         double& best) {
  double best_length = 0, length = 1;
  best = value_ * (1 - 4 * std::numeric_limits<double>::epsilon());  // a smaller decrease is rounding
  for (std::int64_t left = options_.halvings + 1; left > 0;) {
    trials_.clear();
    const std::int64_t count = best_length > 0 ? 1 : std::min<std::int64_t>(2, left);
    if (length == 1 && foreseen() && !near_rounding_) {
      values_.assign(path_->values.begin(), path_->values.end());
    } else {
      for (double s = length; trials_.size() < static_cast<std::size_t>(count) * size_; s /= 2)
        for (std::size_t i = 0; i < size_; ++i)
          trials_.push_back(path_point(x[i], s, direction_[i], acceleration_[i]));
      evaluate_trials(objective, report);
    }
    for (const double value : values_) {
      if (value < best) {  // false for NaN
        best = value;
        best_length = length;
      } else if (best_length > 0) {
        return best_length;
      }
      length /= 2;
    }
    left -= count;
  }
  return best_length;
}

// Raises lambda until a step lowers the value, and takes that step. Returns the gain ratio, 0 if there was
// none.
double LevenbergMarquardt::decrease(Objective& objective, std::span<double> x, StepReport& report) {
  for (std::int64_t attempt = 0; attempt < options_.tries && lambda_ <= options_.largest_damping; ++attempt) {
    // Measured (docs/gauss-newton.md): steps shortened to the length allowed end no lower.
    if (!solve_within_limit(x, TooLong::reject)) {
      lambda_ *= 10;
      continue;
    }
    const double promised = linear_->predicted_decrease(direction_);
    promised_ = std::max(promised_, promised);
    if (options_.acceleration) accelerate(objective, x, report);
    double value = 0;
    const double length = search_length(objective, x, report, value);
    if (length > 0) {
      const double gain = promised > 0 ? (value_ - value) / promised : 0;
      for (std::size_t i = 0; i < size_; ++i) direction_[i] += length / 2 * acceleration_[i];
      move(x, length, direction_, report);
      adapt_damping(gain, length, value);
      return gain;
    }
    lambda_ *= growth_;
    growth_ *= 2;
  }
  report_floor(objective, x, report);
  return 0;
}

// A decrease that the rounding of the residuals would hide cannot be found by any step. How large that rounding
// is, one change of the parameters in their last digit shows to an order of magnitude.
void LevenbergMarquardt::report_floor(Objective& objective, std::span<const double> x, StepReport& report) {
  const double rounding = rounding_of_value(objective, x);
  report.evaluations += 2;
  report.status = Status::stalled;
  const std::string found = lambda_ > options_.largest_damping
                                ? "damping reached its limit: no step along the gradient lowers the loss"
                                : fmt::format("no decrease in {} values of the damping", options_.tries);
  report.message =
      promised_ <= kHidden * rounding
          ? fmt::format(
                "rounding floor reached: a step promises {:.1e} less, rounding changes the loss by {:.1e}",
                promised_, rounding)
          : fmt::format("{}; the best one promised {:.1e} less, rounding changes the loss by {:.1e}", found,
                        promised_, rounding);
  lambda_ = std::min(lambda_, options_.largest_damping);
  growth_ = 2;
}

// The step for lambda_ goes to trials_. False if there is none, or it does not lower the value.
bool LevenbergMarquardt::find_step(Objective& objective, std::span<const double> x, TooLong then,
                                   StepReport& report, double& gain) {
  if (!solve_within_limit(x, then)) return false;
  if (options_.acceleration) accelerate(objective, x, report);
  trials_.resize(size_);
  for (std::size_t i = 0; i < size_; ++i) trials_[i] = x[i] + direction_[i] + acceleration_[i] / 2;
  evaluate_trials(objective, report);
  const double value = values_[0], promised = linear_->predicted_decrease(direction_);
  promised_ = std::max(promised_, promised);
  gain = promised > 0 ? (value_ - value) / promised : 0;
  return value < value_ * (1 - 4 * std::numeric_limits<double>::epsilon());
}

// The longest step that still pays: lambda falls while the gain ratio stays above the target, or rises until
// it is. Lambdas are tried one at a time: the next depends on the gain, and each costs a factorization,
// compared with which a value costs nothing.
double LevenbergMarquardt::decrease_by_target(Objective& objective, std::span<double> x, StepReport& report) {
  constexpr double kRatio = 3;
  double best_gain = 0, best_lambda = 0, best_value = 0, gain = 0;
  bool at_floor = false;
  std::vector<double> best;
  for (std::int64_t attempt = 0; attempt < options_.tries && lambda_ <= options_.largest_damping; ++attempt) {
    const bool had_one = best_gain >= options_.target_gain;
    const auto then = had_one ? TooLong::reject : TooLong::shorten;
    const bool lower = find_step(objective, x, then, report, gain);
    const bool pays = lower && gain >= options_.target_gain;
    if (pays || (lower && !had_one && gain > best_gain)) {
      best_gain = gain;
      best_lambda = lambda_;
      best_value = values_[0];
      best = trials_;
    }
    if (pays && attempt > 0 && !had_one) break;  // rising: the first that pays
    if (!pays && had_one) break;                 // falling: the last one was the longest that pays
    if (pays && at_limit_) break;                // a longer one is not allowed
    at_floor = pays && lambda_ / kRatio < least_damping();
    if (at_floor) break;
    lambda_ = pays ? lambda_ / kRatio : lambda_ * kRatio;
  }
  if (best.empty()) {
    report_floor(objective, x, report);
    return 0;
  }
  lambda_ = best_lambda;
  for (std::size_t i = 0; i < size_; ++i) direction_[i] = best[i] - x[i];
  move(x, 1, direction_, report);
  floor_.stepped(std::log(value_ / best_value), at_floor);
  return best_gain;
}

double LevenbergMarquardt::least_damping() const {
  const bool by_cholesky = options_.form == Form::automatic && linear_->form() == Form::primal;
  return std::max(options_.smallest_damping, by_cholesky ? kCholeskyFloor * static_cast<double>(size_) : 0);
}

void LevenbergMarquardt::adapt_damping(double gain, double length, double value) {
  double factor = 2;
  if (options_.adaptation ==
      Adaptation::gain) {  // Nielsen's rule: from a third (model trusted) to twice (model poor)
    if (length == 1) factor = std::min(2.0, std::max(1.0 / 3, 1 - std::pow(2 * gain - 1, 3)));
  } else if (length >= 0.25) {
    // A network's steps gain about 0.6 of what the model promises at any lambda, so Nielsen's rule
    // leaves lambda where it is.
    factor = length == 1 ? 1.0 / 3 : length == 0.5 ? 0.7 : 1;
  }
  lambda_ *= factor;
  const double least = least_damping();
  floor_.stepped(std::log(value_ / value), lambda_ < least);
  lambda_ = std::max(least, lambda_);
  growth_ = 2;
}

void LevenbergMarquardt::report_spectrum() {
  auto s = linear_->spectrum();
  if (s.empty()) return;
  for (double& value : s) value = std::max(value, 0.0);
  double rank = 0;
  for (const double value : s) rank += value / (value + lambda_ * linear_->mean_diagonal());
  diagnostics_.push_back({"all", "condition", s.front() / std::max(s.back(), s.front() * 1e-300)});
  diagnostics_.push_back({"all", "effective_rank", rank});
}

void LevenbergMarquardt::state(StateVisitor& visitor) {
  visitor.real("lambda", lambda_);
  visitor.real("growth", growth_);
  visitor.integer("steps", steps_);
  floor_.state(visitor);
  visitor.array("preconditioned_at", preconditioned_at_);
  visitor.integer("preconditioner_step", preconditioner_step_);
  visitor.integer("fresh_iterations", fresh_iterations_);
}

}  // namespace lather::optim
