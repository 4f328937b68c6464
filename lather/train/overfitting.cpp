#include "lather/train/overfitting.hpp"

#include <fmt/format.h>

namespace lather::train {

bool overfits(const Metrics& best, const Metrics& now, std::int64_t every) {
  return now.step - best.step >= kOverfittingValidations * every && now.loss >= 1.1 * best.loss &&
         now.training_loss <= 0.9 * best.training_loss;
}

bool fits_points_only(const Metrics& now) { return now.loss > kOverfittingGap * now.training_loss; }

std::string overfitting_message(const Metrics& best, const Metrics& now, std::int64_t every, bool at_once) {
  if (at_once && fits_points_only(now))
    return fmt::format(
        "the held-out loss {:.2e} is {:.1e} times the training loss {:.2e}: the points are fitted, not the "
        "equation between them; more points (training.points) or fewer features (network.width) may help",
        now.loss, now.loss / now.training_loss, now.training_loss);
  if (!overfits(best, now, every)) return "";
  return fmt::format(
      "the held-out loss rose from {:.2e} (step {}) to {:.2e} (step {}) while the training loss fell from "
      "{:.2e} to {:.2e}: more points, resampling (training.sampling.every) or --patience may help",
      best.loss, best.step, now.loss, now.step, best.training_loss, now.training_loss);
}

}  // namespace lather::train
