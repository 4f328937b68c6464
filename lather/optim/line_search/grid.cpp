#include "lather/optim/line_search/grid.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lather::optim {

double grid_search(Objective& objective, std::span<const double> x, std::span<const double> d, double value,
                   std::int64_t halvings, StepReport& report) {
  std::vector<double> trial(x.size());
  double best = value, best_eta = 0, eta = 1;
  for (std::int64_t k = 0; k <= halvings; ++k, eta /= 2) {
    for (std::size_t i = 0; i < x.size(); ++i) trial[i] = x[i] + eta * d[i];
    const double f = objective.value(trial);
    ++report.evaluations;
    if (f < best) {  // false for NaN
      best = f;
      best_eta = eta;
    }
  }
  return best_eta;
}

void say_stalled(std::int64_t halvings, std::string_view why, StepReport& report) {
  report.status = Status::stalled;
  report.message = fmt::format("none of the steps 1, 1/2, ..., 2^-{} along the direction lowers the loss: {}",
                               halvings, why);
}

}  // namespace lather::optim
