#pragma once
// The last point at which a line-search method knows value and gradient, so that the accepted point of one
// step need not be evaluated again at the start of the next.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/line_search/line_search.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct EvaluatedPoint {
  bool known = false;
  double f = 0;
  std::vector<double> x, g;

  // Evaluates at x unless already done. Fills loss, gradient norm, evaluations and, if no step can follow,
  // the status.
  void evaluate(Objective& objective, std::span<const double> at, double tolerance_gradient,
                StepReport& report) {
    if (!known || !std::equal(at.begin(), at.end(), x.begin(), x.end())) {
      x.assign(at.begin(), at.end());
      g.resize(at.size());
      f = objective.value_and_gradient(x, g);
      ++report.evaluations;
      known = true;
    }
    report.loss = f;
    report.gradient_norm = norm(g);
    if (!std::isfinite(f) || !all_finite(g)) {
      known = false;
      report.status = Status::non_finite;
      report.message = std::isfinite(f) ? "the gradient is not finite" : "the loss is not finite";
    } else if (const double largest = largest_magnitude(g); largest <= tolerance_gradient) {
      report.status = Status::converged;
      report.message = largest == 0 ? "the gradient is zero" : "the gradient is below its tolerance";
    }
  }

  // Moves to the accepted point of a line search along d. Returns the length of the step; 0 if x did not
  // change in this precision.
  double move(LinePoint accepted, std::span<const double> d, std::span<double> parameters) {
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double moved = x[i] + accepted.t * d[i];
      squares += (moved - x[i]) * (moved - x[i]);
      parameters[i] = x[i] = moved;
    }
    f = accepted.f;
    g = std::move(accepted.gradient);
    return std::sqrt(squares);
  }

  std::size_t bytes() const { return bytes_of(x, g); }

  void state(StateVisitor& v) {
    v.boolean("point_known", known);
    v.real("point_value", f);
    v.array("point", x);
    v.array("point_gradient", g);
  }
};

}  // namespace lather::optim
