#include "lather/train/overfitting.hpp"

#include <fmt/format.h>

namespace lather::train {

bool overfits(const Metrics& best, const Metrics& now, std::int64_t every) {
  return now.step - best.step >= kOverfittingValidations * every && now.loss >= 1.1 * best.loss &&
         now.training_loss <= 0.9 * best.training_loss;
}

std::string overfitting_message(const Metrics& best, const Metrics& now) {
  return fmt::format(
      "the held-out loss rose from {:.2e} (step {}) to {:.2e} (step {}) while the training loss fell from "
      "{:.2e} to "
      "{:.2e}: more points, resampling (training.sampling.every) or --patience may help",
      best.loss, best.step, now.loss, now.step, best.training_loss, now.training_loss);
}

}  // namespace lather::train
