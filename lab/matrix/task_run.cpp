#include "matrix/task_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/clock.hpp"
#include "lather/optim/wrappers/composed.hpp"

namespace lather::lab {

namespace {

// A schedule over the whole run needs to be told its length.
optim::OptimizerSpec with_length(optim::OptimizerSpec spec, std::int64_t steps) {
  if (auto& schedule = spec.wrappers.schedule; schedule && schedule->over_the_whole_run())
    schedule->total_steps = steps;
  return spec;
}

}  // namespace

TaskRun::TaskRun(MatrixTask& task, const optim::OptimizerSpec& spec, const TaskLength& length)
    : task_(task),
      length_(length),
      optimizer_(optim::make_composed(task.problem->layout(), with_length(spec, length.steps))),
      x_(task.problem->initial_point()) {
  for (double& value : x_) value *= task.run.start_scale;
}

void TaskRun::begin() { measure(); }

void TaskRun::advance() {
  auto& problem = *task_.problem;
  const Stopwatch watch;
  if (has_new_batch()) {
    problem.draw_batch(step_ + 1);
    if (task_.run.renew_secants)
      optimizer_->renew_secant(problem, x_);
    else
      optimizer_->objective_changed();
  }
  const auto report = optimizer_->step(problem, x_);
  ++step_;
  curve_.seconds += watch.seconds();
  if (report.status == optim::Status::non_finite ||
      (report.status != optim::Status::running && !problem.stochastic()))
    end(report);
  else if (is_recorded(step_))
    measure();
}

void TaskRun::end(const optim::StepReport& report) {
  curve_.not_finite = report.status == optim::Status::non_finite;
  curve_.ending = fmt::format("ended at step {}: {}", step_, report.message);
  while (!ended() && !is_recorded(step_)) ++step_;
  measure();
  const TaskPoint last = curve_.points.at(step_);
  while (!ended())
    if (is_recorded(++step_)) curve_.points[step_] = last;
}

bool TaskRun::is_recorded(std::int64_t step) const {
  return step % length_.record == 0 || step == length_.steps ||
         std::find(length_.also.begin(), length_.also.end(), step) != length_.also.end();
}

// In the next step.
bool TaskRun::has_new_batch() const {
  return task_.problem->stochastic() && step_ % task_.run.batch_steps == 0;
}

void TaskRun::measure() {
  TaskPoint& point = curve_.points[step_];
  point.seconds = curve_.seconds;
  for (const auto& metric : task_.problem->metrics(x_)) point.metrics.push_back(metric.value);
}

void TaskRun::state(StateVisitor& v) {
  v.integer("step", step_);
  v.array("x", std::span<double>(x_));
  curve_state(v);
  optimizer_->state(v);
  if (v.reading() && !has_new_batch()) task_.problem->draw_batch(step_ - step_ % task_.run.batch_steps + 1);
}

void TaskRun::curve_state(StateVisitor& v) {
  v.real("seconds", curve_.seconds);
  std::vector<std::pair<std::int64_t, TaskPoint>> points(curve_.points.begin(), curve_.points.end());
  auto count = static_cast<std::int64_t>(points.size());
  v.integer("points", count);
  points.resize(static_cast<std::size_t>(count));
  const std::size_t metrics = task_.problem->metric_names().size();
  for (auto& [step, point] : points) {
    v.integer("step", step);
    v.real("seconds", point.seconds);
    point.metrics.resize(metrics);
    v.array("metrics", std::span<double>(point.metrics));
  }
  curve_.points = {points.begin(), points.end()};
}

TaskCurve run_task(MatrixTask& task, const optim::OptimizerSpec& spec, const TaskLength& length,
                   const std::function<bool()>& interrupted) {
  TaskRun run(task, spec, length);
  run.begin();
  while (!run.ended() && !interrupted()) run.advance();
  TaskCurve curve = run.curve();
  curve.interrupted = !run.ended();
  return curve;
}

}  // namespace lather::lab
