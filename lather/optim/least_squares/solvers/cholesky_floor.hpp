#pragma once
// When the orthogonal form pays. Near the floor of Cholesky, lambda can fall no further and steps may creep;
// without the floor they may leap, or be the same as before at several times the cost. So it is tried: after
// kPatience steps at the floor, kProbe steps are taken orthogonally, and the form is kept if in the last of
// them, when lambda has fallen, the logarithm of the value falls kCost times as fast as before. Everything is
// counted in steps, not seconds, so that runs repeat bit for bit.

#include <cstdint>

#include "lather/core/state.hpp"

namespace lather::optim {

class CholeskyFloor {
 public:
  bool left() const { return pays_ || probing_ > 0; }  // the orthogonal form is to be used
  void objective_changed() { *this = {}; }
  void stalled() { pays_ = true; }

  // After a step that lowered the value. `at_floor`: Cholesky kept lambda from falling.
  void stepped(double log_decrease, bool at_floor) {
    if (pays_) return;
    if (probing_ > 0) {
      if (probing_ <= kCompared) during_ += log_decrease;
      if (--probing_ > 0) return;
      pays_ = during_ >= kCost * before_;
      waited_ = -5 * kPatience;
    } else if (!at_floor) {
      waited_ = waited_ < 0 ? waited_ : 0;
    } else if (++waited_ > kPatience - kCompared) {
      before_ = (waited_ == kPatience - kCompared + 1 ? 0 : before_) + log_decrease;
      if (waited_ == kPatience) {
        probing_ = kProbe;
        during_ = 0;
      }
    }
  }

  void state(StateVisitor& visitor) {
    visitor.boolean("floor_pays", pays_);
    visitor.integer("floor_waited", waited_);
    visitor.integer("floor_probing", probing_);
    visitor.real("floor_before", before_);
    visitor.real("floor_during", during_);
  }

 private:
  static constexpr std::int64_t kPatience = 20, kProbe = 15, kCompared = 5;
  static constexpr double kCost = 3;  // of a step: 5 measured on a GPU, but the gain lasts
  bool pays_ = false;
  std::int64_t waited_ = 0, probing_ = 0;
  double before_ = 0, during_ = 0;  // fall of the logarithm of the value in kCompared steps
};

}  // namespace lather::optim
