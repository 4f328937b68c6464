#pragma once
// When does a run fit its training points rather than the problem?

#include <string>

#include "lather/train/stages/stage.hpp"

namespace lather::train {

// The rule: at least kOverfittingValidations validations after the best step, the held-out loss is a tenth or
// more above its best, while the training loss is a tenth or more below what it was then. Both losses use the
// problem's own weights. `every`: steps between validations.
inline constexpr std::int64_t kOverfittingValidations = 5;
bool overfits(const Metrics& best, const Metrics& now, std::int64_t every);

// A method that solves for all of its parameters in one step has no better step to compare with: it has
// fitted only the points if the held-out loss is more than kOverfittingGap times the training loss.
inline constexpr double kOverfittingGap = 100;
bool fits_points_only(const Metrics& now);

// A message about either, with a remedy; empty: neither is seen. `at_once`: the method solves in one step.
std::string overfitting_message(const Metrics& best, const Metrics& now, std::int64_t every, bool at_once);

}  // namespace lather::train
