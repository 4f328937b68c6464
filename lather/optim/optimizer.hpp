#pragma once
// One optimizer = one pair of files that reads like its paper. It sees an Objective and a flat parameter array, nothing else.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/optim/objective.hpp"

namespace lather::optim {

// How a step went. Everything except `running` means that further steps would do nothing new.
enum class Status {
  running,       // a step was taken
  converged,     // the gradient vanished, or a tolerance the user gave was met
  stalled,       // no progress is possible in this precision (line search at rounding level, step of zero length)
  non_finite,    // loss or gradient is NaN or infinite; parameters were left as they were
};

struct StepReport {
  double loss = 0;            // at the parameters before the step
  double gradient_norm = 0;   // Euclidean, before the step
  double step_norm = 0;       // Euclidean length of the change of the parameters
  int evaluations = 0;        // of the objective, with or without gradient
  Status status = Status::running;
  std::string message;        // in words, whenever status is not running or something is worth saying
};

// A number about one block: {"layer1.weight", "tau", 0.83}.
struct Diagnostic {
  std::string_view block, quantity;
  double value;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One iteration. A NaN, a failed line search, a singular matrix is a status in words, never an exception.
  virtual StepReport step(Objective& objective, std::span<double> parameters) = 0;

  // The objective is no longer the same function (points resampled, weights changed): secants across the change are void.
  virtual void objective_changed() {}

  // Schedules multiply the learning rate given in the options by this factor. Line-search methods ignore it.
  virtual void set_learning_rate_factor(double factor) = 0;

  // Of the last step; valid until the next one.
  virtual std::span<const Diagnostic> diagnostics() const { return {}; }

  // Everything needed to go on bit for bit.
  virtual void state(StateVisitor& visitor) = 0;
};

}  // namespace lather::optim
