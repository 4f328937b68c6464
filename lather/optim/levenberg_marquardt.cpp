#include "lather/optim/levenberg_marquardt.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lather/core/error.hpp"

namespace lather::optim {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

double gigabytes(double numbers) { return numbers * 8 / (1 << 30); }

}  // namespace

void LevenbergMarquardtOptions::fields(FieldVisitor& v) {
  v.choice("form", form, "which matrix is factored: by size, parameters × parameters, residuals × residuals, or none",
           {{"auto", Form::automatic}, {"primal", Form::primal}, {"dual", Form::dual}, {"cg", Form::conjugate_gradients}});
  v.choice("damping", damping, "what lambda multiplies: the identity, or diag(J^T J), which makes steps independent of the scale of each parameter",
           {{"identity", Damping::identity}, {"marquardt", Damping::marquardt}});
  v.real("initial_damping", initial_damping, "first lambda, relative to the mean of diag(J^T J)", positive());
  v.real("smallest_damping", smallest_damping, "lower limit of lambda, relative likewise", positive());
  v.real("largest_damping", largest_damping, "upper limit of lambda; reaching it means that no step helps", positive());
  v.integer("tries", tries, "values of lambda tried before a step counts as failed", at_least(1));
  v.integer("halvings", halvings, "shorter steps tried along a direction before lambda is raised", non_negative());
  v.real("max_memory", max_memory, "GiB the matrices may take; beyond it conjugate gradients are used", positive());
  v.real("cg_tolerance", cg_tolerance, "relative residual at which conjugate gradients stop", positive());
  v.integer("cg_iterations", cg_iterations, "most conjugate gradient iterations per solve", at_least(1));
  v.integer("spectrum_every", spectrum_every, "steps between reports of condition number and effective rank; 0: never", non_negative());
}

// The model |r + J d|^2 at one x. solve() gives the step for one lambda.
struct LevenbergMarquardt::System {
  System(Objective& objective, std::span<const double> at, Form chosen, const LevenbergMarquardtOptions& settings)
      : objective(objective), x(at), form(chosen), options(settings), Jtr(objective.size()) {
    const auto n = static_cast<Eigen::Index>(objective.size()), m = static_cast<Eigen::Index>(objective.residual_count());
    if (form == Form::primal) {
      matrix.resize(n, n);
      value = objective.normal_equations(x, matrix.data(), {Jtr.data(), static_cast<std::size_t>(n)});
      mean_diagonal = matrix.diagonal().mean();
      scales = options.damping == LevenbergMarquardtOptions::Damping::marquardt ? Vector(matrix.diagonal()) : Vector::Constant(n, mean_diagonal);
      scales = scales.cwiseMax(1e-12 * mean_diagonal);
      return;
    }
    r.resize(m);
    if (form == Form::dual) {
      matrix.resize(m, m);
      objective.residual_gram(x, matrix.data(), {r.data(), static_cast<std::size_t>(m)});
      mean_diagonal = matrix.diagonal().sum() / static_cast<double>(n);  // trace J J^T = trace J^T J
    } else {
      objective.residuals(x, {r.data(), static_cast<std::size_t>(m)});
    }
    value = r.squaredNorm();
    objective.transposed_jacobian_times(x, {r.data(), static_cast<std::size_t>(m)}, {Jtr.data(), static_cast<std::size_t>(n)});
    if (form == Form::conjugate_gradients) {
      // trace(J^T J) = E |J v|^2 for random signs v; one sample is enough for a scale.
      Vector v(n), Jv(m);
      for (Eigen::Index i = 0; i < n; ++i) v[i] = (i * 2654435761u) & 0x10000 ? 1 : -1;
      objective.jacobian_times(x, {v.data(), static_cast<std::size_t>(n)}, {Jv.data(), static_cast<std::size_t>(m)});
      mean_diagonal = Jv.squaredNorm() / static_cast<double>(n);
    }
    scales = Vector::Constant(n, mean_diagonal);
  }

  // False if the damped matrix is not positive definite in this precision.
  bool solve(double lambda, Vector& d) {
    if (form == Form::primal) {
      factor = matrix;
      factor.diagonal() += lambda * scales;
      Eigen::LLT<Eigen::Ref<Matrix>, Eigen::Lower> llt(factor);
      if (llt.info() != Eigen::Success) return false;
      d = -llt.solve(Jtr);
    } else if (form == Form::dual) {
      factor = matrix;
      factor.diagonal().array() += lambda * mean_diagonal;
      Eigen::LLT<Eigen::Ref<Matrix>, Eigen::Lower> llt(factor);
      if (llt.info() != Eigen::Success) return false;
      const Vector w = -llt.solve(r);
      d.resize(Jtr.size());
      objective.transposed_jacobian_times(x, {w.data(), static_cast<std::size_t>(w.size())}, {d.data(), static_cast<std::size_t>(d.size())});
    } else {
      conjugate_gradients(lambda, d);
    }
    return d.allFinite();
  }

  // The decrease the damped model promises: -2 d.J^T r - |J d|^2 = d.(lambda D d - J^T r)
  double predicted(double lambda, const Vector& d) const { return d.dot(lambda * scales.cwiseProduct(d) - Jtr); }

  void conjugate_gradients(double lambda, Vector& d) {
    const std::size_t n = Jtr.size(), m = r.size();
    d = Vector::Zero(Jtr.size());
    Vector residual = -Jtr, p = residual, Jp(r.size()), Ap(Jtr.size());
    double rho = residual.squaredNorm();
    const double stop = rho * options.cg_tolerance * options.cg_tolerance;
    for (cg_used = 0; cg_used < options.cg_iterations && rho > stop; ++cg_used) {
      objective.jacobian_times(x, {p.data(), n}, {Jp.data(), m});
      objective.transposed_jacobian_times(x, {Jp.data(), m}, {Ap.data(), n});
      Ap += lambda * scales.cwiseProduct(p);
      const double alpha = rho / p.dot(Ap);
      if (!std::isfinite(alpha)) break;
      d += alpha * p;
      residual -= alpha * Ap;
      const double next = residual.squaredNorm();
      p = residual + (next / rho) * p;
      rho = next;
    }
  }

  Objective& objective;
  std::span<const double> x;
  Form form;
  const LevenbergMarquardtOptions& options;
  Matrix matrix, factor;
  Vector Jtr, r, scales;
  double value = 0, mean_diagonal = 0;
  std::int64_t cg_used = 0;
};

LevenbergMarquardt::LevenbergMarquardt(const ParameterLayout& layout, const LevenbergMarquardtOptions& options)
    : size_(layout.size()), options_(options), gradient_(size_), direction_(size_), trial_(size_) {
  const double needed = gigabytes(2.0 * static_cast<double>(size_) * static_cast<double>(size_));
  if (options.form == Form::primal && needed > options.max_memory)
    throw Error(fmt::format("lm: the primal form needs {:.1f} GiB for {} parameters, max_memory is {:.1f} GiB; use form=dual or form=cg", needed, size_, options.max_memory));
}

LevenbergMarquardtOptions::Form LevenbergMarquardt::choose_form(std::size_t residuals) const {
  if (options_.form != Form::automatic) return options_.form;
  const std::size_t smaller = std::min(size_, residuals);
  if (gigabytes(2.0 * static_cast<double>(smaller) * static_cast<double>(smaller)) > options_.max_memory) return Form::conjugate_gradients;
  return size_ <= residuals || options_.damping == LevenbergMarquardtOptions::Damping::marquardt ? Form::primal : Form::dual;
}

StepReport LevenbergMarquardt::step(Objective& objective, std::span<double> x) {
  StepReport report;
  const std::size_t residuals = objective.residual_count();
  if (residuals == 0) throw Error("lm needs an objective that is a sum of squared residuals");
  const Form form = choose_form(residuals);
  System system(objective, x, form, options_);
  report.evaluations = 1;
  report.loss = system.value;
  report.gradient_norm = 2 * system.Jtr.norm();
  diagnostics_.clear();
  if (!std::isfinite(system.value) || !std::isfinite(report.gradient_norm)) {
    report.status = Status::non_finite;
    report.message = "the residuals or their Jacobian are not finite";
    return report;
  }
  if (report.gradient_norm == 0) {
    report.status = Status::converged;
    report.message = "the gradient is exactly zero";
    return report;
  }
  if (lambda_ < 0) lambda_ = options_.initial_damping;
  ++steps_;

  Vector d;
  double gain = 0;
  bool accepted = false;
  for (int attempt = 0; attempt < options_.tries && !accepted; ++attempt) {
    if (lambda_ > options_.largest_damping) break;
    if (!system.solve(lambda_, d)) {
      lambda_ *= 10;
      continue;
    }
    const double promised = system.predicted(lambda_, d);
    double length = 1;
    for (int halving = 0; halving <= options_.halvings; ++halving, length /= 2) {
      for (std::size_t i = 0; i < size_; ++i) trial_[i] = x[i] + length * d[static_cast<Eigen::Index>(i)];
      const double value = objective.value(trial_);
      ++report.evaluations;
      if (std::isfinite(value) && value < system.value) {
        gain = promised > 0 ? (system.value - value) / promised : 0;
        accepted = true;
        break;
      }
    }
    if (accepted) {
      report.step_norm = length * d.norm();
      std::copy(trial_.begin(), trial_.end(), x.begin());
      // Nielsen's rule: from a third (model trusted) to twice (model poor).
      const double factor = length == 1 ? std::max(1.0 / 3, 1 - std::pow(2 * gain - 1, 3)) : 2;
      lambda_ = std::max(options_.smallest_damping, lambda_ * std::min(factor, 2.0));
      growth_ = 2;
    } else {
      lambda_ *= growth_;
      growth_ *= 2;
    }
  }
  if (!accepted) {
    report.status = Status::stalled;
    report.message = lambda_ > options_.largest_damping
                         ? "damping reached its limit: no step along the gradient lowers the loss; the rounding floor is reached"
                         : fmt::format("no decrease in {} values of the damping; the rounding floor may be reached", options_.tries);
    lambda_ = std::min(lambda_, options_.largest_damping);
    growth_ = 2;
  }
  diagnostics_.push_back({"all", "lambda", lambda_});
  diagnostics_.push_back({"all", "gain", gain});
  if (form == Form::conjugate_gradients) diagnostics_.push_back({"all", "cg_iterations", static_cast<double>(system.cg_used)});
  if (options_.spectrum_every > 0 && steps_ % options_.spectrum_every == 0 && form != Form::conjugate_gradients) {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(system.matrix, Eigen::EigenvaluesOnly);
    const Vector s = eigen.eigenvalues().cwiseMax(0.0);
    diagnostics_.push_back({"all", "condition", s.maxCoeff() / std::max(s.minCoeff(), s.maxCoeff() * 1e-300)});
    diagnostics_.push_back({"all", "effective_rank", (s.array() / (s.array() + lambda_ * system.mean_diagonal)).sum()});
  }
  return report;
}

void LevenbergMarquardt::state(StateVisitor& visitor) {
  visitor.real("lambda", lambda_);
  visitor.real("growth", growth_);
  visitor.integer("steps", steps_);
}

}  // namespace lather::optim
