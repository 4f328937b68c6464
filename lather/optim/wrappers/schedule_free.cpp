#include "lather/optim/wrappers/schedule_free.hpp"

#include <cmath>

namespace lather::optim {

std::vector<double> ScheduleFree::gradient_point(std::span<const double> x) const {
  std::vector<double> y(x.begin(), x.end());
  for (std::size_t i = 0; i < z_.size(); ++i) y[i] = (1 - options_.beta) * z_[i] + options_.beta * x[i];
  return y;
}

StepReport ScheduleFree::take_step(Objective& objective, std::span<double> x) {
  if (z_.empty()) z_.assign(x.begin(), x.end());
  std::vector<double> y = gradient_point(x);
  const std::vector<double> y_before = y;
  StepReport report = inner_->step(objective, y);
  if (report.status != Status::running) return report;  // x and z stay

  const double weight = factor_ * factor_;
  weight_sum_ += weight;
  const double c = weight_sum_ > 0 ? weight / weight_sum_ : 0;
  double squares = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    z_[i] += y[i] - y_before[i];                      // z = z + inner step
    const double moved = (1 - c) * x[i] + c * z_[i];  // x = (1 - c) x + c z
    squares += (moved - x[i]) * (moved - x[i]);
    x[i] = moved;
  }
  report.step_norm = std::sqrt(squares);
  return report;
}

void ScheduleFree::state(StateVisitor& v) {
  v.real("factor", factor_);
  v.real("weight_sum", weight_sum_);
  v.array("z", z_);
  inner_->state(v);
}

}  // namespace lather::optim
