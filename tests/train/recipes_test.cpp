// Every recipe of every problem file is one the trainer takes.
#include <gtest/gtest.h>

#include "lather/pde/find_problem.hpp"
#include "lather/train/trainer.hpp"

namespace lather::train {
namespace {

class Recipes : public ::testing::TestWithParam<std::string> {};

TEST_P(Recipes, OfBothSizesAreResolvedAndTheQuickOneCanStart) {
  ConfigRequest request;
  request.problem = GetParam();
  request.threads = 2;
  request.size = "paper";
  const Config paper = resolve(request);
  request.size = "quick";
  const Config quick = resolve(request);
  EXPECT_GT(paper.stop.steps, quick.stop.steps);
  Trainer trainer(quick);
  EXPECT_EQ(trainer.step(), 0);
  EXPECT_TRUE(std::isfinite(trainer.loss()));
  EXPECT_EQ(trainer.term_names().size(), trainer.problem().terms.size());
}

INSTANTIATE_TEST_SUITE_P(Problems, Recipes, ::testing::ValuesIn(pde::list_problems()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace lather::train
