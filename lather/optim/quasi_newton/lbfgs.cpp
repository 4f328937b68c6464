//   g  gradient    d = -H g  direction    t  step length    s = t d    y = g+ - g

#include "lather/optim/quasi_newton/lbfgs.hpp"

#include <algorithm>
#include <cmath>

#include "lather/optim/line_search/armijo.hpp"
#include "lather/optim/line_search/strong_wolfe.hpp"

namespace lather::optim {

void LbfgsOptions::fields(FieldVisitor& v) {
  v.integer("history", history, "number of pairs kept", at_least(1));
  v.real("first_step", first_step,
         "trial length of a step; the very first is this divided by the 1-norm of the gradient", positive());
  wolfe.fields(v);
  v.integer("max_line_search", max_line_search, "iterations of the line search", at_least(1));
  v.choice("curvature_test", curvature_test,
           "a pair is kept if y.s exceeds the threshold, or the threshold times |y| |s|",
           {{"relative", CurvatureTest::relative}, {"absolute", CurvatureTest::absolute}});
  v.real("curvature_threshold", curvature_threshold, "threshold of the curvature test", non_negative());
  v.real("tolerance_gradient", tolerance_gradient, "converged when the largest gradient entry is below this",
         non_negative());
  v.real("tolerance_change", tolerance_change,
         "converged when the slope or the bracket of the line search is below this", non_negative());
}

LbfgsOptions torch_lbfgs_options() {
  LbfgsOptions o;
  o.wolfe.approximate = 0;
  o.curvature_test = CurvatureTest::absolute;
  o.curvature_threshold = 1e-10;
  o.tolerance_gradient = 1e-7;
  o.tolerance_change = 1e-9;
  return o;
}

Lbfgs::Lbfgs(const ParameterLayout& layout, const LbfgsOptions& options)
    : Optimizer(layout),
      options_(options),
      history_(static_cast<std::size_t>(options.history)),
      d_(layout.size()) {}

// Searches along -H g; if that leads nowhere, forgets the pairs and searches along -g.
LineSearchResult Lbfgs::search(Objective& objective, StepReport& report) {
  for (;;) {
    const bool steepest = history_.empty();
    history_.descend(point_.g, d_);
    const LinePoint start{0, point_.f, dot(d_, point_.g), point_.g};
    LineSearchResult result;
    if (!all_finite(d_) || !(start.slope < 0)) {
      result.message = "the search direction is not a descent direction";
    } else if (start.slope > -options_.tolerance_change) {
      report.status = Status::converged;
      result.message = "the slope along the search direction is below its tolerance";
      return result;
    } else {
      Ray ray(objective, point_.x, d_);
      const double t = (first_ ? std::min(1.0, 1 / sum_of_magnitudes(point_.g)) : 1.0) * options_.first_step;
      result = strong_wolfe(
          ray, start, t,
          {options_.wolfe, options_.tolerance_change, static_cast<int>(options_.max_line_search)});
      if (!result.success && steepest) result = armijo(ray, start, {.first = t, .c1 = options_.wolfe.c1});
      report.evaluations += ray.evaluations();
    }
    if (result.success || steepest) return result;
    report.message += result.message + "; restarted from steepest descent; ";
    history_.clear();
    first_ = true;
  }
}

void Lbfgs::remember(std::vector<double> s, std::vector<double> y, StepReport& report) {
  const double threshold = options_.curvature_threshold *
                           (options_.curvature_test == CurvatureTest::relative ? norm(s) * norm(y) : 1.0);
  if (dot(y, s) > threshold)
    history_.push(std::move(s), std::move(y));
  else
    report.message += "no positive curvature along the step; the pair is dropped";
}

StepReport Lbfgs::take_step(Objective& objective, std::span<double> parameters) {
  StepReport report;
  diagnostics_.clear();
  if (objective.cuda_objective() && !history_.on_device()) history_.move_to_device(d_.size());
  point_.evaluate(objective, parameters, options_.tolerance_gradient, report);
  if (report.status != Status::running) return report;

  auto found = search(objective, report);
  if (!found.success) {
    if (report.status == Status::running) report.status = Status::stalled;
    report.message += found.message;
    return report;
  }
  std::vector<double> s(d_.size()), y = point_.g;
  const double t = found.point.t;
  report.step_norm = point_.move(std::move(found.point), d_, parameters);
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = t * d_[i];           // s = t d
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = point_.g[i] - y[i];  // y = g+ - g
  remember(std::move(s), std::move(y), report);
  first_ = false;
  diagnostics_ = {{"", "step_length", t}, {"", "pairs", static_cast<double>(history_.size())}};
  return report;
}

void Lbfgs::state(StateVisitor& v) {
  v.boolean("first", first_);
  history_.state(v);
  point_.state(v);
}

}  // namespace lather::optim
