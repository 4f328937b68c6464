#pragma once
// When does a run fit its training points rather than the problem?

#include <string>

#include "lather/train/stages/stage.hpp"

namespace lather::train {

// The rule: at least kOverfittingValidations validations after the best step, the held-out loss is a tenth or
// more above its best, while the training loss is a tenth or more below what it was then. Both losses carry
// the problem's own weights. `every`: steps between validations.
inline constexpr std::int64_t kOverfittingValidations = 5;
bool overfits(const Metrics& best, const Metrics& now, std::int64_t every);

std::string overfitting_message(const Metrics& best, const Metrics& now);

}  // namespace lather::train
