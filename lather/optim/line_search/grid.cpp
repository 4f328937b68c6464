#include "lather/optim/line_search/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lather::optim {

namespace {

// Trial points, each as long as x, that a search holds.
constexpr std::int64_t kTrialsAtOnce = 8;

}  // namespace

double grid_search(Objective& objective, std::span<const double> x, std::span<const double> d, double value,
                   std::int64_t halvings, StepReport& report) {
  std::vector<double> trials, etas, values;
  double best = value, best_eta = 0, eta = 1;
  for (std::int64_t first = 0; first <= halvings; first += kTrialsAtOnce) {
    trials.clear(), etas.clear();
    for (std::int64_t k = first; k <= std::min(halvings, first + kTrialsAtOnce - 1); ++k, eta /= 2) {
      etas.push_back(eta);
      for (std::size_t i = 0; i < x.size(); ++i) trials.push_back(x[i] + eta * d[i]);
    }
    values.resize(etas.size());
    objective.values(trials, values);
    report.evaluations += static_cast<int>(values.size());
    for (std::size_t k = 0; k < values.size(); ++k)
      if (values[k] < best) {  // false for NaN
        best = values[k];
        best_eta = etas[k];
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
