#include "lather/optim/wrappers/switching.hpp"

#include <cmath>

namespace lather::optim {

bool Switching::on_plateau(double loss) {
  if (options_.plateau_steps == 0) return false;
  if (!has_best_ || loss < best_ - options_.plateau_decrease * std::abs(best_)) {
    best_ = loss;
    has_best_ = true;
    steps_since_best_ = 0;
  } else {
    ++steps_since_best_;
  }
  return steps_since_best_ >= options_.plateau_steps;
}

StepReport Switching::take_step(Objective& objective, std::span<double> parameters) {
  const bool due = !switched_ && options_.at_step > 0 && step_ >= options_.at_step;
  if (due) switched_ = true;
  ++step_;
  StepReport report = current().step(objective, parameters);
  if (due)
    report.message =
        "switched to the second optimizer" + (report.message.empty() ? "" : "; " + report.message);
  if (switched_) return report;
  const bool ended = report.status == Status::stalled || report.status == Status::converged;
  if (ended || on_plateau(report.loss)) {
    // The second optimizer takes the next step; a first one that can do no more does not end the run.
    switched_ = true;
    report.message += report.message.empty() ? "" : "; ";
    report.message += ended ? "the first optimizer can do no more, switching to the second"
                            : "plateau, switching to the second optimizer";
    report.status = Status::running;
  }
  return report;
}

void Switching::state(StateVisitor& v) {
  v.integer("switch_step", step_);
  v.integer("steps_since_best", steps_since_best_);
  v.real("best", best_);
  v.boolean("has_best", has_best_);
  v.boolean("switched", switched_);
  first_->state(v);
  second_->state(v);
}

}  // namespace lather::optim
