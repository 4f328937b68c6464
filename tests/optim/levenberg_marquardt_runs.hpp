#pragma once
// Runs Levenberg–Marquardt until it ends or has taken enough steps.

#include <vector>

#include "lather/optim/least_squares/levenberg_marquardt.hpp"

namespace lather::optim::levenberg_marquardt_runs {

using Options = LevenbergMarquardtOptions;
using Form = Options::Form;
using Damping = Options::Damping;

struct Run {
  std::vector<double> x;
  StepReport last;
  int steps = 0;
};
inline Run run(Objective& objective, std::vector<double> x, int steps, const Options& options = {}) {
  LevenbergMarquardt lm(objective.layout(), options);
  Run result{std::move(x), {}, 0};
  while (result.steps < steps && result.last.status == Status::running) {
    result.last = lm.step(objective, result.x);
    ++result.steps;
  }
  return result;
}

}  // namespace lather::optim::levenberg_marquardt_runs
