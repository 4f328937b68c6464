//   H  approximate inverse Hessian    g  gradient    p = -H g  search direction
//   alpha  step length (LinePoint::t)    s = alpha p    y = g+ - g

#include "lather/optim/quasi_newton/dense_quasi_newton.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/optim/line_search/wolfe12.hpp"

namespace lather::optim {
namespace {

double memory_gib(Device device) {
  return static_cast<double>(device == Device::cuda ? device_memory_bytes() : physical_memory_bytes()) / kGiB;
}

void add_note(std::string& message, const std::string& note) {
  message += (message.empty() ? "" : "; ") + note;
}

}  // namespace

void DenseQuasiNewtonOptions::fields(FieldVisitor& v) {
  wolfe.fields(v);
  v.boolean("initial_scale", initial_scale, "scale H = I by y.s / y.y before the first update");
  v.real("tolerance_gradient", tolerance_gradient, "converged when the largest gradient entry is below this",
         non_negative());
  v.real("max_memory", max_memory,
         "GiB the inverse Hessian may take; 0: half of the memory of the machine, or of the GPU if it lies "
         "there",
         non_negative());
}

DenseQuasiNewton::DenseQuasiNewton(const std::string& name, const ParameterLayout& layout,
                                   const DenseQuasiNewtonOptions& options, ScalingRule rule, Device device)
    : Optimizer(layout),
      options_(options),
      rule_(std::move(rule)),
      n_(layout.size()),
      on_device_(device == Device::cuda) {
  const double needed = static_cast<double>(n_) * static_cast<double>(n_) * sizeof(double) / kGiB;
  const double allowed = options.max_memory > 0 ? options.max_memory : memory_gib(device) / 2;
  if (needed > allowed)
    throw MemoryLimitExceeded(fmt::format(
        "{}: the inverse Hessian of {} parameters takes {:.3g} GiB, more than the {:.3g} GiB allowed {} "
        "(option max_memory); lbfgs needs far less",
        name, n_, needed, allowed, on_device_ ? "on the GPU" : "on this machine"));
  p_.resize(n_);
}

void DenseQuasiNewton::take_memory() {
  if (H_) return;
  H_ = on_device_ ? make_device_inverse_hessian(n_) : make_inverse_hessian(n_);
  restart();
}

// The value of another function says nothing about the length of the next step.
void DenseQuasiNewton::objective_changed() {
  point_.known = false;
  f_before_ = std::numeric_limits<double>::infinity();
}

std::size_t DenseQuasiNewton::memory_bytes() const {
  return (H_ ? n_ * n_ * sizeof(double) : 0) + bytes_of(p_) + point_.bytes();
}

void DenseQuasiNewton::restart() {
  H_->set_to_identity(1);
  fresh_ = true;
}

// Keeps H where the objective is.
void DenseQuasiNewton::follow(Objective& objective) {
  const bool wanted = objective.cuda_objective() != nullptr;
  if (!H_ && wanted != on_device_ && (!wanted || device_memory_bytes() > 0)) on_device_ = wanted;
  take_memory();
  if (wanted == on_device_) return;
  auto moved = wanted ? make_device_inverse_hessian(n_) : make_inverse_hessian(n_);
  if (!moved) return;
  StateWriter writer;
  H_->state(writer);
  StateReader reader(writer.bytes());
  moved->state(reader);
  H_ = std::move(moved);
  on_device_ = wanted;
}

// p = -H g; false if p is not a descent direction.
bool DenseQuasiNewton::find_direction() {
  H_->multiply(point_.g, p_);
  for (double& value : p_) value = -value;
  return all_finite(p_) && dot(p_, point_.g) < 0;
}

// Searches along -H g and, if that leads nowhere, along -g with H = I.
LineSearchResult DenseQuasiNewton::search(Objective& objective, StepReport& report) {
  for (;;) {
    const bool was_fresh = fresh_;
    LineSearchResult result;
    if (find_direction()) {
      const LinePoint start{0, point_.f, dot(p_, point_.g), point_.g};
      Ray ray(objective, point_.x, p_);
      // Before the first step, as in SciPy: f_{-1} = f_0 + |g_0| / 2, which makes the first trial about one
      // unit long.
      const double f_before = first_ ? point_.f + report.gradient_norm / 2 : f_before_;
      result = wolfe12(ray, start, f_before, {.wolfe = options_.wolfe});
      report.evaluations += ray.evaluations();
    } else {
      result.message = "the search direction is not a descent direction";
    }
    if (result.success || was_fresh) return result;
    add_note(report.message, result.message + "; restarted with H = I");
    restart();
    first_ = true;
  }
}

StepReport DenseQuasiNewton::take_step(Objective& objective, std::span<double> parameters) {
  StepReport report;
  diagnostics_.clear();
  follow(objective);
  point_.evaluate(objective, parameters, options_.tolerance_gradient, report);
  if (report.status != Status::running) return report;

  auto found = search(objective, report);  // alpha_k
  if (!found.success) {
    report.status = Status::stalled;
    add_note(report.message, found.message);
    return report;
  }
  const std::vector<double> g = point_.g;
  const double alpha = found.point.t;
  f_before_ = point_.f;
  report.step_norm = point_.move(std::move(found.point), p_, parameters);
  std::vector<double> s(n_), y(n_);
  for (std::size_t i = 0; i < n_; ++i) s[i] = alpha * p_[i];       // s = alpha p
  for (std::size_t i = 0; i < n_; ++i) y[i] = point_.g[i] - g[i];  // y = g+ - g

  double alpha_of_H = alpha;
  if (options_.initial_scale && fresh_ && dot(s, y) > 0) {
    const double gamma = dot(s, y) / dot(y, y);  // Nocedal & Wright, eq. 6.20
    H_->set_to_identity(gamma);
    alpha_of_H /= gamma;  // H^{-1} s = -(alpha / gamma) g
  }
  const auto update = update_inverse_hessian(*H_, {s, y, alpha_of_H, g}, rule_);
  if (!update.message.empty()) add_note(report.message, update.message);
  if (update.applied) fresh_ = false;
  first_ = false;
  diagnostics_ = {{"", "alpha", alpha},
                  {"", "tau", update.scaling.tau},
                  {"", "phi", update.scaling.phi},
                  {"", "b", update.curvature.b},
                  {"", "h", update.curvature.h}};
  return report;
}

void DenseQuasiNewton::state(StateVisitor& v) {
  take_memory();
  v.boolean("fresh", fresh_);
  v.boolean("first", first_);
  v.real("value_before", f_before_);
  H_->state(v);
  point_.state(v);
}

}  // namespace lather::optim
