#pragma once
// Basis changes, with what precedes and follows them: complete whether the optimizer takes its steps one by
// one on the host or many at a time on the GPU.

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/optim/kronecker/basis_log.hpp"

namespace lather::train {

struct LoggedEvent {
  static constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
  std::int64_t step = 0;  // of the run, from 1
  std::string layer;
  double rho_left = 0, rho_right = 0, gamma = 1;
  double gradient_cosine = kNotKnown;  // the optimizer's first step has no previous gradient
  double loss = 0;                     // before the step
  double loss_after_1 = kNotKnown, loss_after_10 = kNotKnown;  // points may have been redrawn in between
  double rho_after_10 = kNotKnown, gradient_cosine_after_10 = kNotKnown;  // of the same layer
};

class EventLog {
 public:
  // Called after an optimizer call that began after `steps_before` training steps. `loss`: of its last step.
  void add(const optim::BasisLog& log, std::int64_t steps_before, double loss);
  // The events that are ten steps old, or all.
  std::vector<LoggedEvent> take(bool all);
  void state(StateVisitor& v);

 private:
  std::deque<LoggedEvent> waiting_;
  std::vector<LoggedEvent> complete_;
};

}  // namespace lather::train
