#pragma once
// A run on a matrix problem, step by step, recorded as it goes. Saved between two steps and restored, it goes
// on bit for bit.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/optim/optimizer.hpp"
#include "matrix/matrix_task.hpp"

namespace lather::lab {

struct TaskPoint {
  double seconds = 0;
  std::vector<double> metrics;  // in the order of metric_names()
};
struct TaskCurve {
  std::map<std::int64_t, TaskPoint> points;  // by step
  std::string ending;                        // why it stopped early; empty: it did not
  bool not_finite = false, interrupted = false;
  double seconds = 0;  // of steps, without measuring
};

struct TaskLength {
  std::int64_t steps = 0, record = 1;
  std::vector<std::int64_t> also;  // recorded too
};

class TaskRun {
 public:
  // The task must outlive the run.
  TaskRun(MatrixTask& task, const optim::OptimizerSpec& optimizer, const TaskLength& length);

  void begin();    // measures the starting point; not of a run that is restored
  void advance();  // one step, or all that are left if nothing will move any more
  bool ended() const { return step_ == length_.steps; }
  std::int64_t step() const { return step_; }
  const TaskCurve& curve() const { return curve_; }

  // Of a run that has not ended.
  void state(StateVisitor& visitor);

 private:
  bool is_recorded(std::int64_t step) const;
  bool has_new_batch() const;
  void measure();
  void end(const optim::StepReport& report);
  void curve_state(StateVisitor& visitor);

  MatrixTask& task_;
  TaskLength length_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<double> x_;
  std::int64_t step_ = 0;  // steps taken
  TaskCurve curve_;
};

TaskCurve run_task(
    MatrixTask& task, const optim::OptimizerSpec& optimizer, const TaskLength& length,
    const std::function<bool()>& interrupted = [] { return false; });

}  // namespace lather::lab
