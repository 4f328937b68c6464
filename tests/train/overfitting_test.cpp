#include "lather/train/overfitting.hpp"

#include <gtest/gtest.h>

namespace lather::train {
namespace {

Metrics at(std::int64_t step, double held_out, double training) {
  Metrics m;
  m.step = step;
  m.loss = held_out;
  m.training_loss = training;
  return m;
}

TEST(Overfitting, IsARisingHeldOutLossWithAFallingTrainingLoss) {
  const Metrics best = at(100, 1e-3, 1e-3);
  EXPECT_TRUE(overfits(best, at(150, 2e-3, 5e-4), 10));
  EXPECT_FALSE(overfits(best, at(140, 2e-3, 5e-4), 10)) << "four validations may be chance";
  EXPECT_FALSE(overfits(best, at(150, 1.05e-3, 5e-4), 10)) << "hardly risen";
  EXPECT_FALSE(overfits(best, at(150, 2e-3, 2e-3), 10)) << "both rise: the steps are too long";
  EXPECT_FALSE(overfits(best, best, 10));
}

}  // namespace
}  // namespace lather::train
