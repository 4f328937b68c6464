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

TEST(Overfitting, OfAMethodThatSolvesAtOnceIsSeenByTheGapBetweenTheLosses) {
  const Metrics fitted = at(1, 1e-10, 1e-22), solved = at(1, 3e-22, 1e-22);
  EXPECT_TRUE(fits_points_only(fitted));
  EXPECT_FALSE(fits_points_only(solved));
  EXPECT_FALSE(fits_points_only(at(1, 0, 0))) << "solved exactly";
  EXPECT_NE(overfitting_message(fitted, fitted, 1, true).find("more points (training.points)"),
            std::string::npos);
  EXPECT_EQ(overfitting_message(solved, solved, 1, true), "");
  EXPECT_EQ(overfitting_message(fitted, fitted, 1, false), "")
      << "one that goes on is watched over several steps";
}

}  // namespace
}  // namespace lather::train
