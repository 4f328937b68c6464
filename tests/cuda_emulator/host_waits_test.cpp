// How often the host waits for the device in a step of lm, counted on the emulated device.
#include <gtest/gtest.h>

#include "cuda_emulator/emulator.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/least_squares/levenberg_marquardt.hpp"
#include "lather/pde/objective.hpp"

namespace lather::pde {
namespace {

// u' = u with u(0) = 1.
Problem growth() {
  Problem p;
  p.symbols =
      std::make_shared<OutputSymbols>(*p.graph, std::vector<std::string>{"x"}, std::vector<std::string>{"u"});
  p.domain = {{0, 1}};
  p.network_inputs = {p.symbols->coordinate(0)};
  p.network = {.width = 5, .depth = 1};
  p.point_sets.push_back({"interior", PointSet::Kind::interior, {}, {}, {}});
  p.point_sets.push_back({"start", PointSet::Kind::boundary, {}, {}, {}});
  p.terms.push_back(
      {"equation", 0, p.symbols->output(0, symbolic::MultiIndex{}.plus(0)) - p.symbols->output(0), 1});
  p.terms.push_back({"start", 1, p.symbols->output(0) - 1.0, 1});
  return p;
}

Points on_line(std::size_t count) {
  Points points;
  auto& x = points.coordinates.emplace_back(count);
  for (std::size_t k = 0; k < count; ++k) x[k] = Random(1, 1).uniform(k);
  return points;
}

// The list in docs/performance.md. One value of lambda: J, the second difference of r, two lengths.
TEST(HostWaits, OfAStepOfLevenbergMarquardtDoNotGrowWithTermsAndTrials) {
  PinnObjective objective(growth(), {.device = Device::cuda, .threads = 1});
  auto x = objective.initialize(1);
  objective.set_points(0, on_line(40));
  objective.set_points(1, on_line(3));
  optim::LevenbergMarquardt lm(objective.layout(), {.form = optim::LeastSquaresForm::primal});
  for (int warm_up = 0; warm_up < 3; ++warm_up) lm.step(objective, x);
  int plain_steps = 0;
  for (int step = 0; step < 6; ++step) {
    const int before = emulator::host_waits;
    const int evaluations = lm.step(objective, x).evaluations;
    if (evaluations != 1 + 3 + 2) continue;
    ++plain_steps;
    EXPECT_EQ(emulator::host_waits - before, 1);
  }
  EXPECT_GT(plain_steps, 0);
}

}  // namespace
}  // namespace lather::pde
