// Letters: r residuals, J their Jacobian, D the damping matrix (identity or diag(J^T J)), lambda its
// strength, d the step, a its geodesic acceleration, s its length.
//
//   (J^T J + lambda D) d = -J^T r                     linear_->damp, linear_->solve
//   (J^T J + lambda D) a = -J^T r''                   accelerate: r'' the second difference of r along d
//   x <- x + s d + s^2/2 a,   s = 1, 1/2, 1/4, ...    search_length
//   lambda by s, by the gain ratio, or by a target    adapt_damping, decrease_by_target

#include "lather/optim/least_squares/levenberg_marquardt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/least_squares.hpp"

namespace lather::optim {

namespace {

// Cholesky of J^T J + lambda D sees nothing below the rounding of the largest eigenvalue, which is at most
// the trace, n times the mean of the diagonal: lambda stays above this times n.
constexpr double kCholeskyFloor = std::numeric_limits<double>::epsilon();

}  // namespace

LevenbergMarquardt::LevenbergMarquardt(const ParameterLayout& layout,
                                       const LevenbergMarquardtOptions& options)
    : size_(layout.size()), options_(options), direction_(size_), acceleration_(size_), trial_(size_) {
  if (options.form == Form::dual && options.damping == DampingMatrix::marquardt)
    throw Error(
        "lm: damping=marquardt scales parameters, which the dual form (residuals × residuals) does not see; "
        "use form=primal, form=qr or form=cg, or damping=identity");
}

StepReport LevenbergMarquardt::step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "lm", x);
  StepReport report;
  if (lambda_ < 0) lambda_ = options_.initial_damping;
  linearization_of(objective).build(x);
  report.evaluations = 1;
  diagnostics_.clear();
  if (!may_step(linear_->value(), linear_->Jtr(), report)) return report;
  if (steps_++ == 0) report.message = linear_->description();

  const double least = least_damping();
  double gain = try_step(objective, x, report);
  if (report.status == Status::stalled && turn_orthogonal(objective, x)) {
    report.status = Status::running;
    report.message = linear_->description();
    lambda_ = least;
    gain = try_step(objective, x, report);
  }
  diagnostics_.push_back({"all", "lambda", lambda_});
  diagnostics_.push_back({"all", "gain", gain});
  if (linear_->form() == Form::conjugate_gradients)
    diagnostics_.push_back({"all", "cg_iterations", static_cast<double>(linear_->cg_iterations())});
  else if (options_.spectrum_every > 0 && steps_ % options_.spectrum_every == 0)
    report_spectrum();
  return report;
}

double LevenbergMarquardt::try_step(Objective& objective, std::span<double> x, StepReport& report) {
  return options_.adaptation == Adaptation::target ? decrease_by_target(objective, x, report)
                                                   : decrease(objective, x, report);
}

// a from the second difference of r along d, for the same lambda. False where it is not finite or exceeds d,
// whose quadratic model is then of no use.
bool LevenbergMarquardt::accelerate(Objective& objective, std::span<const double> x) {
  constexpr double h = 0.1;  // Transtrum & Sethna
  const std::size_t m = objective.residual_count();
  std::vector<double> bend(m), side(m);
  objective.residuals(x, bend);
  for (double& v : bend) v *= -2;
  for (const double s : {h, -h}) {
    for (std::size_t i = 0; i < size_; ++i) trial_[i] = x[i] + s * direction_[i];
    objective.residuals(trial_, side);
    for (std::size_t k = 0; k < m; ++k) bend[k] += side[k];
  }
  for (double& v : bend) v /= h * h;
  if (!all_finite(bend)) return false;
  linear_->solve(bend, acceleration_);
  return all_finite(acceleration_) && norm(acceleration_) < 2 * norm(direction_);
}

// A network that such a step reaches has its activations saturated: nearly constant, with a gradient near zero
// and a loss that may well be lower.
bool LevenbergMarquardt::is_too_long(std::span<const double> x) const {
  return options_.longest_step > 0 && norm(direction_) > options_.longest_step * (1 + norm(x));
}

// The best of the lengths 1, 1/2, 1/4, … along the path; the search ends where the value rises again. 0: none
// lowers the value. A value costs little beside J^T J.
double LevenbergMarquardt::search_length(Objective& objective, std::span<const double> x, StepReport& report,
                                         double& best) {
  double best_length = 0, length = 1;
  best =
      linear_->value() * (1 - 4 * std::numeric_limits<double>::epsilon());  // a smaller decrease is rounding
  for (std::int64_t halving = 0; halving <= options_.halvings; ++halving, length /= 2) {
    for (std::size_t i = 0; i < size_; ++i)
      trial_[i] = x[i] + length * (direction_[i] + length / 2 * acceleration_[i]);
    const double trial = objective.value(trial_);
    ++report.evaluations;
    if (trial < best) {  // not NaN either
      best = trial;
      best_length = length;
    } else if (best_length > 0) {
      break;
    }
  }
  return best_length;
}

// Raises lambda until a step lowers the value, and takes that step. Returns the gain ratio, 0 if there was
// none.
double LevenbergMarquardt::decrease(Objective& objective, std::span<double> x, StepReport& report) {
  for (std::int64_t attempt = 0; attempt < options_.tries && lambda_ <= options_.largest_damping; ++attempt) {
    const bool positive = linear_->damp(lambda_);
    if (positive) linear_->solve(direction_);
    if (!positive || !all_finite(direction_) || is_too_long(x)) {
      lambda_ *= 10;
      continue;
    }
    if (!options_.acceleration || !accelerate(objective, x))
      std::fill(acceleration_.begin(), acceleration_.end(), 0.0);
    if (options_.acceleration) report.evaluations += 3;
    double value = 0;
    const double length = search_length(objective, x, report, value);
    if (length > 0) {
      const double promised = linear_->predicted_decrease(direction_);
      const double gain = promised > 0 ? (linear_->value() - value) / promised : 0;
      for (std::size_t i = 0; i < size_; ++i) direction_[i] += length / 2 * acceleration_[i];
      move(x, length, direction_, report);
      adapt_damping(gain, length, value);
      return gain;
    }
    lambda_ *= growth_;
    growth_ *= 2;
  }
  report_floor(report);
  return 0;
}

void LevenbergMarquardt::report_floor(StepReport& report) {
  report.status = Status::stalled;
  report.message =
      lambda_ > options_.largest_damping
          ? "damping reached its limit: no step along the gradient lowers the loss; the rounding floor is "
            "reached"
          : fmt::format("no decrease in {} values of the damping; the rounding floor may be reached",
                        options_.tries);
  lambda_ = std::min(lambda_, options_.largest_damping);
  growth_ = 2;
}

// The step for lambda_ goes to trial_. False if there is none, or it does not lower the value.
bool LevenbergMarquardt::find_step(Objective& objective, std::span<const double> x, StepReport& report,
                                   double& gain) {
  if (!linear_->damp(lambda_)) return false;
  linear_->solve(direction_);
  if (!all_finite(direction_) || is_too_long(x)) return false;
  if (!options_.acceleration || !accelerate(objective, x))
    std::fill(acceleration_.begin(), acceleration_.end(), 0.0);
  for (std::size_t i = 0; i < size_; ++i) trial_[i] = x[i] + direction_[i] + acceleration_[i] / 2;
  const double value = objective.value(trial_), promised = linear_->predicted_decrease(direction_);
  report.evaluations += options_.acceleration ? 4 : 1;
  gain = promised > 0 ? (linear_->value() - value) / promised : 0;
  return value < linear_->value() * (1 - 4 * std::numeric_limits<double>::epsilon());
}

// The longest step that still pays: lambda falls while the gain ratio stays above the target, or rises until
// it is.
double LevenbergMarquardt::decrease_by_target(Objective& objective, std::span<double> x, StepReport& report) {
  constexpr double kRatio = 3;
  double best_gain = 0, best_lambda = 0, gain = 0;
  std::vector<double> best;
  for (std::int64_t attempt = 0; attempt < options_.tries && lambda_ <= options_.largest_damping; ++attempt) {
    const bool lower = find_step(objective, x, report, gain), pays = lower && gain >= options_.target_gain;
    const bool had_one = best_gain >= options_.target_gain;
    if (pays || (lower && !had_one && gain > best_gain)) {
      best_gain = gain;
      best_lambda = lambda_;
      best = trial_;
    }
    if (pays && attempt > 0 && !had_one) break;  // rising: the first that pays
    if (!pays && had_one) break;                 // falling: the last one was the longest that pays
    if (pays && lambda_ / kRatio < least_damping()) break;
    lambda_ = pays ? lambda_ / kRatio : lambda_ * kRatio;
  }
  if (best.empty()) {
    report_floor(report);
    return 0;
  }
  lambda_ = best_lambda;
  for (std::size_t i = 0; i < size_; ++i) direction_[i] = best[i] - x[i];
  move(x, 1, direction_, report);
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
    // A network's steps gain about 0.6 of what the model promises at any lambda, and Nielsen's lambda stays
    // where it is.
    factor = length == 1 ? 1.0 / 3 : length == 0.5 ? 0.7 : 1;
  }
  lambda_ *= factor;
  const double least = least_damping();
  floor_.stepped(std::log(linear_->value() / value), lambda_ < least);
  lambda_ = std::max(least, lambda_);
  growth_ = 2;
}

// ---- Which matrix is factored

LeastSquaresForm LevenbergMarquardt::choose_form(const Residuals& source) const {
  const std::size_t residuals = source.residual_count();
  const auto fits = [&](std::size_t dimension) {
    return source.normal_matrix_bytes(dimension) <= memory_limit_;
  };
  const auto require_room = [&](std::string_view form, std::size_t dimension, std::string_view what,
                                std::string_view instead) {
    if (!fits(dimension))
      throw OutOfMemory(fmt::format(
          "lm: the {} form needs {:.1f} GiB for {} {}, max_memory is {:.1f} GiB; use {}", form,
          source.normal_matrix_bytes(dimension) / kGiB, dimension, what, memory_limit_ / kGiB, instead));
  };
  if (options_.form == Form::primal) require_room("primal", size_, "parameters", "form=dual or form=cg");
  if (options_.form == Form::dual)
    require_room("dual", residuals, "residuals", "form=primal, form=cg, or fewer points");
  if (options_.form == Form::orthogonal && source.orthogonal_factor_bytes() > memory_limit_)
    throw OutOfMemory(fmt::format(
        "lm: the orthogonal form needs {:.1f} GiB for {} parameters, max_memory is {:.1f} GiB; use "
        "form=primal, form=dual or form=cg",
        source.orthogonal_factor_bytes() / kGiB, size_, memory_limit_ / kGiB));
  if (options_.form != Form::automatic) return options_.form;
  const bool dual = residuals < size_ && options_.damping == DampingMatrix::identity;
  if (!fits(dual ? residuals : size_)) return Form::conjugate_gradients;
  if (dual) return Form::dual;
  return floor_.left() && source.orthogonal_factor_bytes() <= memory_limit_ ? Form::orthogonal : Form::primal;
}

void LevenbergMarquardt::use_form(Residuals& source, Form form) {
  if (linear_ && linear_->form() == form && linear_->fits(source)) return;
  linear_ = nullptr;  // its memory is free for the next
  linear_ =
      make_linearization(source, {form, options_.damping, options_.cg_tolerance, options_.cg_iterations});
}

// Where Cholesky finds no better step and the form is ours to choose: the same x in the orthogonal form,
// which costs several times as much. It stays until the residuals are others.
bool LevenbergMarquardt::turn_orthogonal(Objective& objective, std::span<const double> x) {
  Residuals& source = objective.source();
  if (options_.form != Form::automatic || linear_->form() != Form::primal ||
      source.orthogonal_factor_bytes() > memory_limit_)
    return false;
  floor_.stalled();
  use_form(source, Form::orthogonal);
  linear_->build(x);
  return true;
}

Linearization& LevenbergMarquardt::linearization_of(Objective& objective) {
  Residuals& source = objective.source();
  // Before the first matrix is taken: what is free then is what they may share.
  if (memory_limit_ == 0)
    memory_limit_ = options_.max_memory > 0 ? options_.max_memory * kGiB : 0.6 * source.available_bytes();
  use_form(source, choose_form(source));
  return *linear_;
}

// Before the first step: what J^T J and its factor will take, unless the form turns out to be a smaller one.
std::size_t LevenbergMarquardt::memory_bytes() const {
  if (linear_) return linear_->bytes();
  return options_.form == Form::conjugate_gradients ? 0 : 2 * sizeof(double) * size_ * size_;
}

// ---- Reports, state, options

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
}

void LevenbergMarquardtOptions::fields(FieldVisitor& v) {
  v.choice(
      "form", form,
      "which matrix is factored: by size and damping; J^T J (parameters × parameters), J J^T (residuals × "
      "residuals), none (conjugate gradients), or J itself, orthogonally",
      {{"auto", Form::automatic},
       {"primal", Form::primal},
       {"dual", Form::dual},
       {"cg", Form::conjugate_gradients},
       {"qr", Form::orthogonal}});
  v.choice("damping", damping,
           "what lambda multiplies: the identity, or diag(J^T J), which makes steps independent of the scale "
           "of each parameter (not with form=dual)",
           {{"identity", Damping::identity}, {"marquardt", Damping::marquardt}});
  v.choice("adaptation", adaptation,
           "what lambda follows: the length of the best step along the direction; the gain ratio (Nielsen); "
           "or target: "
           "the least lambda, of several tried in every step, with a gain ratio of at least target_gain",
           {{"length", Adaptation::length}, {"gain", Adaptation::gain}, {"target", Adaptation::target}});
  v.real("target_gain", target_gain, "adaptation=target: gain ratio that a step must have",
         {.low = 0, .high = 1, .low_open = true, .high_open = true});
  v.boolean("acceleration", acceleration,
            "follow the bend of the residuals along the step (geodesic acceleration)");
  v.real("initial_damping", initial_damping, "first lambda, relative to the mean of diag(J^T J)", positive());
  v.real("longest_step", longest_step,
         "steps longer than this times 1 + |parameters| are not taken, lambda rises instead; 0: no limit",
         non_negative());
  v.real("smallest_damping", smallest_damping, "lower limit of lambda, relative likewise", positive());
  v.real("largest_damping", largest_damping, "upper limit of lambda; reaching it means that no step helps",
         positive());
  v.integer("tries", tries, "values of lambda tried before a step counts as failed", at_least(1));
  v.integer("halvings", halvings, "shorter steps tried along a direction, each half as long as the last",
            non_negative());
  v.real("max_memory", max_memory,
         "GiB the matrices may take, beyond it conjugate gradients are used; 0: 60 % of what is free where "
         "they lie",
         non_negative());
  v.real("cg_tolerance", cg_tolerance, "relative residual at which conjugate gradients stop", positive());
  v.integer("cg_iterations", cg_iterations, "most conjugate gradient iterations per solve", at_least(1));
  v.integer("spectrum_every", spectrum_every,
            "steps between reports of condition number and effective rank; 0: never", non_negative());
}

}  // namespace lather::optim
