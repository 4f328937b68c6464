#include "matrix/task_run.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lather/optim/formulas/ss_esoap.hpp"

namespace lather::lab {
namespace {

// Reads the number of steps with a secant from the state of an SS-eSOAP with one layer.
class SecantSteps final : public StateVisitor {
 public:
  void real(std::string_view, double&) override {}
  void integer(std::string_view, std::int64_t&) override {}
  void array(std::string_view name, std::span<double> values) override {
    if (name == "tau_counts") count = values[optim::kTauSteps];
  }
  void array(std::string_view, std::vector<double>&) override {}
  bool reading() const override { return false; }
  double count = -1;
};

double steps_with_a_secant(const nlohmann::json& settings, int steps) {
  nlohmann::json all{{"batch", 50}};
  all.update(settings);
  MatrixTask task = make_task("logistic", TaskSize::small, all, 1);
  TaskRun run(task, optim::OptimizerSpec("ss-esoap"), {steps + 1, 1, {}});
  run.begin();
  for (int step = 0; step < steps; ++step) run.advance();
  SecantSteps secants;
  run.state(secants);
  return secants.count;
}

TEST(TaskRun, ASecantNeedsTwoStepsOnOneBatchUnlessItIsRenewed) {
  EXPECT_EQ(steps_with_a_secant({{"batch_steps", 1}}, 9), 0);
  EXPECT_EQ(steps_with_a_secant({{"batch_steps", 3}}, 9), 6);
  EXPECT_EQ(steps_with_a_secant({{"batch_steps", 4}}, 9), 6);
  EXPECT_EQ(steps_with_a_secant({{"batch_steps", 9}}, 9), 8);
  EXPECT_EQ(steps_with_a_secant({{"renew_secants", true}}, 9), 8);
}

}  // namespace
}  // namespace lather::lab
