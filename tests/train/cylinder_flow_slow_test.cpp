// A benchmark of computational fluid dynamics by its default recipe.
#include <gtest/gtest.h>

#include "lather/train/trainer.hpp"

namespace lather::train {
namespace {

// The benchmark's figures are independent of our code. Measured: off by 6e-5 after 41 steps.
TEST(CylinderFlow, FindsThePublishedDrag) {
  ConfigRequest request;
  request.problem = "cylinder-flow";
  request.recipe = "quick";
  request.threads = 2;
  request.steps = 60;
  Trainer trainer(resolve(request));
  while (trainer.step() < 60) trainer.advance();
  EXPECT_NEAR(trainer.unknowns()[0] / *trainer.problem().unknowns[0].known_value, 1, 0.01);
}

}  // namespace
}  // namespace lather::train
