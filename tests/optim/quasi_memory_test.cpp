// What quasi-Newton methods hold, and what they forget when the objective changes.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "from_json.hpp"
#include "lather/optim/catalogue.hpp"
#include "optim/test_functions.hpp"

namespace lather::optim {
namespace {

// offset + sum_i (1 + i) x_i^2 / 2
struct Bowl final : Objective {
  Bowl() { l.add_vector("x", 6); }
  const ParameterLayout& layout() const override { return l; }
  double value(std::span<const double> x) override {
    std::vector<double> g(x.size());
    return value_and_gradient(x, g);
  }
  double value_and_gradient(std::span<const double> x, std::span<double> g) override {
    ++evaluations;
    double sum = offset;
    for (std::size_t i = 0; i < x.size(); ++i) {
      g[i] = static_cast<double>(1 + i) * x[i];
      sum += g[i] * x[i] / 2;
    }
    return sum;
  }
  ParameterLayout l;
  double offset = 0;
  int evaluations = 0;
};

TEST(QuasiNewtonMemory, CountsPairsAndMatrices) {
  const std::size_t vector = 6 * sizeof(double);
  for (const char* name : {"lbfgs", "bfgs", "ss-bfgs", "ss-broyden"}) {
    Bowl bowl;
    const auto optimizer = make_from_json(name, bowl.l, {});
    std::vector<double> x(6, 1.0);
    for (int t = 0; t < 4; ++t) ASSERT_EQ(optimizer->step(bowl, x).status, Status::running);
    const std::size_t held = std::string(name) == "lbfgs" ? 2 * 4 : 6;  // four pairs, or six rows
    EXPECT_GE(optimizer->memory_bytes(), held * vector) << name;
    EXPECT_LE(optimizer->memory_bytes(), (held + 4) * vector) << name;
  }
}

// The first trial of a line search is judged by the value before the last step. After a redraw that value
// belongs to another function: if it were kept, a small difference would make the trial just as small.
TEST(DenseQuasiNewton, ForgetsTheLastValueWhenTheObjectiveChanges) {
  for (const char* name : {"bfgs", "ss-bfgs", "ss-broyden"}) {
    Bowl bowl;
    const auto optimizer = make_from_json(name, bowl.l, {});
    std::vector<double> x(6, 1.0);
    const double first = bowl.value(x);
    optimizer->step(bowl, x);
    bowl.offset = first - bowl.value(x) - 1e-9;  // the new function begins just below where the old one was
    optimizer->objective_changed();
    bowl.evaluations = 0;
    const auto report = optimizer->step(bowl, x);
    ASSERT_EQ(report.status, Status::running) << report.message;
    EXPECT_LE(bowl.evaluations, 3) << name;  // at the start, and at a trial of length 1 or the next
  }
}

}  // namespace
}  // namespace lather::optim
