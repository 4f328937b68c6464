#include "lather/optim/least_squares/nncg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/optim/least_squares/least_squares.hpp"
#include "lather/optim/least_squares/solvers/conjugate_gradients.hpp"
#include "lather/optim/line_search/armijo.hpp"

namespace lather::optim {

void NysNewtonCgOptions::fields(FieldVisitor& v) {
  v.choice("hessian", hessian,
           "products with the Hessian: central differences of the gradient (the paper's exact Hessian, up to "
           "rounding), or the Gauss-Newton matrix",
           {{"differences", Hessian::differences}, {"gauss-newton", Hessian::gauss_newton}});
  v.real("damping", damping, "mu, added to the diagonal of the Hessian", positive());
  v.integer("rank", rank, "of the preconditioner", at_least(1));
  v.integer("refresh_every", refresh_every, "steps between new preconditioners", at_least(1));
  v.real("cg_tolerance", cg_tolerance, "relative residual at which conjugate gradients stop", positive());
  v.integer("cg_iterations", cg_iterations, "most conjugate gradient iterations per step", at_least(1));
  v.real("sufficient_decrease", sufficient_decrease, "Armijo's constant", between(0, 1));
  v.real("backtracking", backtracking, "factor of a step that was too long", {0, 1, true, true});
  v.integer("seed", seed, "of the random sketch", non_negative());
}

NysNewtonCg::NysNewtonCg(const ParameterLayout& layout, const NysNewtonCgOptions& options)
    : NysNewtonCg(layout, options,
                  std::make_unique<HostVectorBlocks>(
                      std::min(static_cast<std::size_t>(options.rank), layout.size()), layout.size())) {}

NysNewtonCg::NysNewtonCg(const ParameterLayout& layout, const NysNewtonCgOptions& options,
                         std::unique_ptr<HostVectorBlocks> blocks)
    : Optimizer(layout),
      options_(options),
      blocks_(*blocks),
      nystrom_(std::move(blocks)),
      d_(layout.size()) {}

void NysNewtonCg::hessian_times(Objective& objective, std::span<const double> x, std::span<const double> v,
                                std::span<double> Hv, StepReport& report) const {
  if (options_.hessian == NysNewtonCgOptions::Hessian::gauss_newton) {
    std::vector<double> Jv(objective.residual_count());
    objective.jacobian_times(x, v, Jv);
    objective.transposed_jacobian_times(x, Jv, Hv);
    for (double& value : Hv) value *= 2;
    report.evaluations += 2;
    return;
  }
  const double h = std::cbrt(std::numeric_limits<double>::epsilon()) * (1 + norm(x)) / norm(v);
  std::vector<double> shifted(x.begin(), x.end()), minus(x.size());
  add_scaled(shifted, -h, v);
  objective.value_and_gradient(shifted, minus);
  std::copy(x.begin(), x.end(), shifted.begin());
  add_scaled(shifted, h, v);
  objective.value_and_gradient(shifted, Hv);
  for (std::size_t i = 0; i < x.size(); ++i) Hv[i] = (Hv[i] - minus[i]) / (2 * h);
  report.evaluations += 2;
}

// If the approximation fails, there is no preconditioner.
void NysNewtonCg::sketch(Objective& objective, std::span<const double> x, StepReport& report) {
  using Block = VectorBlocks::Block;
  nystrom_.build(
      static_cast<std::uint64_t>(options_.seed), static_cast<std::uint64_t>(steps_), [&](VectorBlocks&) {
        for (std::size_t k = 0; k < blocks_.count(); ++k)
          hessian_times(objective, x, blocks_.vector(Block::A, k), blocks_.vector(Block::B, k), report);
      });
}

// (H + mu I) d = g, starting from the d of the previous step.
void NysNewtonCg::newton_direction(Objective& objective, std::span<const double> x, StepReport& report) {
  const auto product = [&](std::span<const double> p, std::span<double> Ap) {
    hessian_times(objective, x, p, Ap, report);
    add_scaled(Ap, options_.damping, p);
  };
  const auto inverse = [&](std::span<const double> r, std::span<double> z) {
    nystrom_.precondition(options_.damping, r, z);
  };
  const auto result =
      conjugate_gradients(product, inverse, point_.g, d_, {options_.cg_tolerance, options_.cg_iterations});
  diagnostics_.push_back({"all", "cg_iterations", static_cast<double>(result.iterations)});
  diagnostics_.push_back({"all", "cg_residual", result.residual});
  if (result.negative_curvature) report.message = "negative curvature met; conjugate gradients ended early";
  // Not in the paper: an indefinite Hessian may give a direction that does not descend; the gradient does.
  if (!all_finite(d_) || !(dot(point_.g, d_) > 0)) d_ = point_.g;
}

StepReport NysNewtonCg::take_step(Objective& objective, std::span<double> x) {
  if (options_.hessian == NysNewtonCgOptions::Hessian::gauss_newton)
    require_residuals(objective, "nncg with hessian=gauss-newton");
  StepReport report;
  diagnostics_.clear();
  point_.evaluate(objective, x, 0, report);
  if (report.status != Status::running) return report;
  if (steps_ % options_.refresh_every == 0) sketch(objective, x, report);
  ++steps_;
  newton_direction(objective, x, report);

  std::vector<double> direction(d_.size());
  const ArmijoOptions armijo_options{.c1 = options_.sufficient_decrease, .shrink = options_.backtracking};
  const auto search = [&] {
    std::transform(d_.begin(), d_.end(), direction.begin(), std::negate<>());
    const LinePoint start{0, point_.f, dot(point_.g, direction), point_.g};
    Ray ray(objective, x, direction);
    auto result = armijo(ray, start, armijo_options);
    report.evaluations += ray.evaluations();
    return result;
  };
  auto result = search();
  if (!result.success && d_ != point_.g) {
    // Not in the paper: at rounding level, or after a poor solve, the gradient itself may still help.
    d_ = point_.g;
    result = search();
  }
  if (!result.success) {
    report.status = Status::stalled;
    report.message = result.message;
    return report;
  }
  diagnostics_.push_back({"all", "t", result.point.t});
  report.step_norm = point_.move(std::move(result.point), direction, x);
  return report;
}

void NysNewtonCg::state(StateVisitor& visitor) {
  visitor.integer("steps", steps_);
  visitor.array("U", blocks_.all(VectorBlocks::Block::A));
  nystrom_.state(visitor);
  visitor.array("d", std::span<double>(d_));
  point_.state(visitor);
}

}  // namespace lather::optim
