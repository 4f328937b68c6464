#include "lather/optim/least_squares/levenberg_marquardt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/optim/cuda/normal_matrix.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/conjugate_gradients.hpp"
#include "lather/optim/least_squares/least_squares.hpp"

namespace lather::optim {

namespace {

// The matrix and its factor.
double memory(std::size_t dimension) {
  return gibibytes(2.0 * static_cast<double>(dimension) * static_cast<double>(dimension));
}

}  // namespace

void LevenbergMarquardtOptions::fields(FieldVisitor& v) {
  v.choice("form", form,
           "which matrix is factored: by size, parameters × parameters, residuals × residuals, or none",
           {{"auto", Form::automatic},
            {"primal", Form::primal},
            {"dual", Form::dual},
            {"cg", Form::conjugate_gradients}});
  v.choice("damping", damping,
           "what lambda multiplies: the identity, or diag(J^T J), which makes steps independent of the scale "
           "of each parameter (not with form=dual)",
           {{"identity", Damping::identity}, {"marquardt", Damping::marquardt}});
  v.choice(
      "adaptation", adaptation,
      "what lambda follows: the length of the best step along the direction, or the gain ratio (Nielsen)",
      {{"length", Adaptation::length}, {"gain", Adaptation::gain}});
  v.boolean("acceleration", acceleration,
            "follow the bend of the residuals along the step (geodesic acceleration)");
  v.real("initial_damping", initial_damping, "first lambda, relative to the mean of diag(J^T J)", positive());
  v.real("smallest_damping", smallest_damping, "lower limit of lambda, relative likewise", positive());
  v.real("largest_damping", largest_damping, "upper limit of lambda; reaching it means that no step helps",
         positive());
  v.integer("tries", tries, "values of lambda tried before a step counts as failed", at_least(1));
  v.integer("halvings", halvings, "shorter steps tried along a direction, each half as long as the last",
            non_negative());
  v.real("max_memory", max_memory, "GiB the matrices may take; beyond it conjugate gradients are used",
         positive());
  v.real("cg_tolerance", cg_tolerance, "relative residual at which conjugate gradients stop", positive());
  v.integer("cg_iterations", cg_iterations, "most conjugate gradient iterations per solve", at_least(1));
  v.integer("spectrum_every", spectrum_every,
            "steps between reports of condition number and effective rank; 0: never", non_negative());
}

void LevenbergMarquardt::Matrices::resize(std::size_t dimension) {
  const std::size_t size = dimension * dimension;
  if (matrix.size() == size) return;
  matrix = Buffer<double>(size);
  factor = Buffer<double>(size);
}

// The matrix lies where the objective does.
void LevenbergMarquardt::Matrices::follow(Objective& objective, Form form) {
  const std::size_t dimension = form == Form::primal ? objective.size() : objective.residual_count();
  CudaObjective* const now = form == Form::conjugate_gradients ? nullptr : objective.cuda_objective();
  if (now == owner && (!device || device->dimension() == dimension)) return;
  device = nullptr;  // its memory is free for the next
  if (now) device = make_device_normal_matrix(objective, dimension);
  owner = now;
}

// The model |r + J d|^2 at one x. solve() gives the step for one lambda.
struct LevenbergMarquardt::System {
  System(Objective& objective, std::span<const double> at, Form chosen,
         const LevenbergMarquardtOptions& settings, Matrices& matrices)
      : objective(objective),
        x(at),
        form(chosen),
        options(settings),
        matrices(matrices),
        n(objective.size()),
        m(objective.residual_count()),
        Jtr(n) {
    std::vector<double> diagonal;  // of J^T J, or of J J^T: the same sum
    if (form == Form::primal && on_device()) {
      value = matrices.device->build_normal(x, Jtr);
      diagonal = matrices.device->diagonal();
    } else if (form == Form::primal) {
      matrices.resize(n);
      value = objective.normal_equations(x, matrices.matrix.data(), Jtr);
      diagonal = matrix_diagonal();
    } else {
      r.resize(m);
      if (on_device()) {
        matrices.device->build_gram(x, r);
        diagonal = matrices.device->diagonal();
      } else if (form == Form::dual) {
        matrices.resize(m);
        objective.residual_gram(x, matrices.matrix.data(), r);
        diagonal = matrix_diagonal();
      } else {
        objective.residuals(x, r);
        diagonal.resize(n);
        objective.normal_diagonal(x, diagonal);
      }
      value = dot(r, r);
      objective.transposed_jacobian_times(x, r, Jtr);
    }
    mean_diagonal = std::accumulate(diagonal.begin(), diagonal.end(), 0.0) / static_cast<double>(n);
    D.assign(n, mean_diagonal);
    if (options.damping == Damping::marquardt)
      // A parameter without influence has a zero here; D must stay positive.
      for (std::size_t i = 0; i < n; ++i) D[i] = std::max(diagonal[i], 1e-12 * mean_diagonal);
    if (form == Form::conjugate_gradients) normal_diagonal = std::move(diagonal);
  }

  // Of the matrix that is factored.
  double damping_of(std::size_t i) const { return form == Form::primal ? D[i] : mean_diagonal; }
  std::size_t dimension() const { return form == Form::primal ? n : m; }
  bool on_device() const { return matrices.device != nullptr; }
  std::vector<double> matrix_diagonal() const {
    std::vector<double> diagonal(dimension());
    for (std::size_t i = 0; i < diagonal.size(); ++i)
      diagonal[i] = matrices.matrix[i * (diagonal.size() + 1)];
    return diagonal;
  }

  // d for one lambda. False if the damped matrix is not positive definite in this precision.
  bool solve(double lambda, std::span<double> d) {
    if (on_device()) {
      std::vector<double> shift(dimension());
      for (std::size_t i = 0; i < shift.size(); ++i) shift[i] = lambda * damping_of(i);
      if (!matrices.device->factor(shift)) return false;
    } else if (form != Form::conjugate_gradients) {
      const std::size_t size = dimension();
      std::copy_n(matrices.matrix.data(), size * size, matrices.factor.data());
      for (std::size_t i = 0; i < size; ++i) matrices.factor[i * (size + 1)] += lambda * damping_of(i);
      if (!linalg::cholesky({matrices.factor.data(), size, size}, objective.team())) return false;
    }
    solve_for(lambda, Jtr, r, d);
    return all_finite(d);
  }

  // d = -(J^T J + lambda D)^{-1} J^T w with the factor of the last solve(); the dual form reads w, the others
  // J^T w.
  void solve_for(double lambda, std::span<const double> Jtw, std::span<const double> w, std::span<double> d) {
    if (form == Form::conjugate_gradients) return iterate(lambda, Jtw, d);
    const auto by_factor = [&](std::span<double> b) {
      if (on_device())
        matrices.device->solve(b);
      else
        linalg::cholesky_solve({matrices.factor.data(), dimension(), dimension()}, b);
    };
    if (form == Form::primal) {
      std::transform(Jtw.begin(), Jtw.end(), d.begin(), std::negate<>());
      by_factor(d);
    } else {
      std::vector<double> v(m);
      std::transform(w.begin(), w.end(), v.begin(), std::negate<>());
      by_factor(v);
      objective.transposed_jacobian_times(x, v, d);
    }
  }

  // a for the same lambda, from the second difference of r along d. False where it is not finite or exceeds
  // d, whose quadratic model is then of no use.
  bool accelerate(double lambda, std::span<const double> d, std::span<double> a) {
    constexpr double h = 0.1;  // Transtrum & Sethna
    std::vector<double> at(n), bend(m), side(m), Jt_bend(n);
    objective.residuals(x, bend);
    for (double& v : bend) v *= -2;
    for (const double s : {h, -h}) {
      for (std::size_t i = 0; i < n; ++i) at[i] = x[i] + s * d[i];
      objective.residuals(at, side);
      for (std::size_t k = 0; k < m; ++k) bend[k] += side[k];
    }
    for (double& v : bend) v /= h * h;
    if (!all_finite(bend)) return false;
    objective.transposed_jacobian_times(x, bend, Jt_bend);
    solve_for(lambda, Jt_bend, bend, a);
    return all_finite(a) && norm(a) < 2 * norm(d);
  }

  // The decrease the damped model promises: -2 d.J^T r - |J d|^2 = d.(lambda D d - J^T r)
  double predicted(double lambda, std::span<const double> d) const {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += d[i] * (lambda * D[i] * d[i] - Jtr[i]);
    return sum;
  }

  void iterate(double lambda, std::span<const double> Jtw, std::span<double> d) {
    std::vector<double> b(n), Jp(m);
    std::transform(Jtw.begin(), Jtw.end(), b.begin(), std::negate<>());
    std::fill(d.begin(), d.end(), 0.0);
    const auto product = [&](std::span<const double> p, std::span<double> Ap) {
      objective.jacobian_times(x, p, Jp);
      objective.transposed_jacobian_times(x, Jp, Ap);
      for (std::size_t i = 0; i < n; ++i) Ap[i] += lambda * D[i] * p[i];
    };
    const auto by_diagonal = [&](std::span<const double> residual, std::span<double> z) {
      for (std::size_t i = 0; i < n; ++i) z[i] = residual[i] / (normal_diagonal[i] + lambda * D[i]);
    };
    cg_used = conjugate_gradients(product, by_diagonal, b, d, {options.cg_tolerance, options.cg_iterations})
                  .iterations;
  }

  Objective& objective;
  std::span<const double> x;
  Form form;
  const LevenbergMarquardtOptions& options;
  Matrices& matrices;
  std::size_t n, m;
  std::vector<double> Jtr, r, D, normal_diagonal;
  double value = 0, mean_diagonal = 0;
  std::int64_t cg_used = 0;
};

LevenbergMarquardt::LevenbergMarquardt(const ParameterLayout& layout,
                                       const LevenbergMarquardtOptions& options)
    : size_(layout.size()), options_(options), direction_(size_), acceleration_(size_), trial_(size_) {
  if (options.form == Form::dual && options.damping == Damping::marquardt)
    throw Error(
        "lm: damping=marquardt scales parameters, which the dual form (residuals × residuals) does not see; "
        "use form=primal or form=cg, or damping=identity");
  if (options.form == Form::primal && memory(size_) > options.max_memory)
    throw Error(
        fmt::format("lm: the primal form needs {:.1f} GiB for {} parameters, max_memory is {:.1f} GiB; use "
                    "form=dual or form=cg",
                    memory(size_), size_, options.max_memory));
}

LevenbergMarquardtOptions::Form LevenbergMarquardt::choose_form(std::size_t residuals) const {
  if (options_.form == Form::dual && memory(residuals) > options_.max_memory)
    throw Error(
        fmt::format("lm: the dual form needs {:.1f} GiB for {} residuals, max_memory is {:.1f} GiB; use "
                    "form=primal, form=cg, or fewer points",
                    memory(residuals), residuals, options_.max_memory));
  if (options_.form != Form::automatic) return options_.form;
  const bool dual = residuals < size_ && options_.damping == Damping::identity;
  if (memory(dual ? residuals : size_) > options_.max_memory) return Form::conjugate_gradients;
  return dual ? Form::dual : Form::primal;
}

namespace {

std::string describe(LevenbergMarquardtOptions::Form form, std::size_t parameters, std::size_t residuals) {
  using Form = LevenbergMarquardtOptions::Form;
  if (form == Form::conjugate_gradients)
    return fmt::format("conjugate gradients without a matrix ({} parameters, {} residuals)", parameters,
                       residuals);
  const std::size_t dimension = form == Form::primal ? parameters : residuals;
  return fmt::format("{} form: Cholesky of a {} × {} matrix, {:.2f} GiB",
                     form == Form::primal ? "primal" : "dual", dimension, dimension, memory(dimension));
}

}  // namespace

StepReport LevenbergMarquardt::step(Objective& objective, std::span<double> x) {
  require_residuals(objective, "lm", x);
  StepReport report;
  const Form form = choose_form(objective.residual_count());
  matrices_.follow(objective, form);
  System system(objective, x, form, options_, matrices_);
  report.evaluations = 1;
  diagnostics_.clear();
  if (!may_step(system.value, system.Jtr, report)) return report;
  if (lambda_ < 0) lambda_ = options_.initial_damping;
  if (steps_++ == 0) report.message = describe(form, size_, objective.residual_count());

  const double gain = decrease(objective, system, x, report);
  diagnostics_.push_back({"all", "lambda", lambda_});
  diagnostics_.push_back({"all", "gain", gain});
  if (form == Form::conjugate_gradients)
    diagnostics_.push_back({"all", "cg_iterations", static_cast<double>(system.cg_used)});
  else if (options_.spectrum_every > 0 && steps_ % options_.spectrum_every == 0)
    report_spectrum(system);
  return report;
}

// The best of the lengths 1, 1/2, 1/4, … along the path; the search ends where the value rises again. 0: none
// lowers `value`. A value costs little beside J^T J.
double LevenbergMarquardt::search_length(Objective& objective, double value, std::span<const double> x,
                                         StepReport& report, double& best) {
  double best_length = 0, length = 1;
  best = value * (1 - 4 * std::numeric_limits<double>::epsilon());  // a smaller decrease is rounding
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
double LevenbergMarquardt::decrease(Objective& objective, System& system, std::span<double> x,
                                    StepReport& report) {
  for (std::int64_t attempt = 0; attempt < options_.tries && lambda_ <= options_.largest_damping; ++attempt) {
    if (!system.solve(lambda_, direction_)) {
      lambda_ *= 10;
      continue;
    }
    if (!options_.acceleration || !system.accelerate(lambda_, direction_, acceleration_))
      std::fill(acceleration_.begin(), acceleration_.end(), 0.0);
    if (options_.acceleration) report.evaluations += 3;
    double value = 0;
    const double length = search_length(objective, system.value, x, report, value);
    if (length > 0) {
      const double promised = system.predicted(lambda_, direction_);
      const double gain = promised > 0 ? (system.value - value) / promised : 0;
      for (std::size_t i = 0; i < size_; ++i) direction_[i] += length / 2 * acceleration_[i];
      move(x, length, direction_, report);
      adapt_damping(gain, length);
      return gain;
    }
    lambda_ *= growth_;
    growth_ *= 2;
  }
  report.status = Status::stalled;
  report.message =
      lambda_ > options_.largest_damping
          ? "damping reached its limit: no step along the gradient lowers the loss; the rounding floor is "
            "reached"
          : fmt::format("no decrease in {} values of the damping; the rounding floor may be reached",
                        options_.tries);
  lambda_ = std::min(lambda_, options_.largest_damping);
  growth_ = 2;
  return 0;
}

void LevenbergMarquardt::adapt_damping(double gain, double length) {
  double factor = 2;
  if (options_.adaptation ==
      Adaptation::gain) {  // Nielsen's rule: from a third (model trusted) to twice (model poor)
    if (length == 1) factor = std::min(2.0, std::max(1.0 / 3, 1 - std::pow(2 * gain - 1, 3)));
  } else if (length >= 0.25) {
    // A network's steps gain about 0.6 of what the model promises at any lambda, and Nielsen's lambda stays
    // where it is.
    factor = length == 1 ? 1.0 / 3 : length == 0.5 ? 0.7 : 1;
  }
  lambda_ = std::max(options_.smallest_damping, lambda_ * factor);
  growth_ = 2;
}

void LevenbergMarquardt::report_spectrum(const System& system) {
  const std::size_t size = system.dimension();
  std::vector<double> s(size);
  if (system.on_device()) {
    matrices_.resize(size);
    matrices_.device->copy_to({matrices_.matrix.data(), size * size});
  }
  if (!linalg::eigenvalues({matrices_.matrix.data(), size, size}, s)) return;
  for (double& value : s) value = std::max(value, 0.0);
  double rank = 0;
  for (const double value : s) rank += value / (value + lambda_ * system.mean_diagonal);
  diagnostics_.push_back({"all", "condition", s.front() / std::max(s.back(), s.front() * 1e-300)});
  diagnostics_.push_back({"all", "effective_rank", rank});
}

void LevenbergMarquardt::state(StateVisitor& visitor) {
  visitor.real("lambda", lambda_);
  visitor.real("growth", growth_);
  visitor.integer("steps", steps_);
}

}  // namespace lather::optim
