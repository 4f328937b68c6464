#pragma once
// The state of a trainer as it was a moment ago. A step that is broken off leaves the trainer halfway; going
// back makes it whole, so that what is saved then resumes bit for bit.
//
// The state is kept before a step if it has not been for half a second, or, where copying it takes long, for
// thirty times as long as that. So the last completed step is lost only with those that took it less than
// this, and only if a long one followed them: what is asked to end may go on for Stop::kGrace, in which
// a short step is completed.

#include <algorithm>
#include <string>
#include <utility>

#include "lather/core/clock.hpp"
#include "lather/train/saved_run.hpp"

namespace lather::train {

class Rewind {
 public:
  // Asked before a step.
  bool is_due() const {
    return bytes_.empty() || since_.seconds() >= std::max(kOften, kRelativeCost * cost_);
  }
  // `own`: what belongs to the state beside the trainer's.
  void keep(Trainer& trainer, RunState own);
  // The state as the bytes of a checkpoint; it is then no longer kept.
  std::string hand_over() { return std::exchange(bytes_, {}); }
  // To the state that was kept; false if none was. Nothing can break it off.
  bool go_back(Trainer& trainer, RunState& own);

 private:
  static constexpr double kOften = 0.5, kRelativeCost = 30;  // seconds; of the time that copying takes
  std::string bytes_;
  double cost_ = 0;
  Stopwatch since_;
};

}  // namespace lather::train
