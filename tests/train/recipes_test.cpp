// Every recipe of every problem file is one the trainer takes.
#include <gtest/gtest.h>

#include "lather/pde/file/find_problem.hpp"
#include "lather/train/trainer.hpp"
#include "small_problem.hpp"

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

// Whether errors can be measured after a change of a parameter, and why not.
std::string note_after(const pde::Override& change) {
  testing::TemporaryFolder folder;
  std::ofstream(folder / "layer.toml") << R"toml(
name = "layer"
coordinates = ["x", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
t = [0, "T"]
[parameters]
T = 1
nu = 0.05
speed = 1
[[equation]]
name = "momentum"
residual = "u_t + speed*u*u_x - nu*u_xx"
[network]
width = 4
depth = 1
[training.quick]
steps = 10
points = {interior = 16}
[reference]
solver = "burgers"
nu = "nu"
)toml";
  ConfigRequest request;
  request.problem = (folder / "layer.toml").string();
  request.threads = 1;
  request.settings = {change};
  Trainer trainer(resolve(request));
  trainer.measure();
  return trainer.reference_note();
}

TEST(ReferenceAfterAChangeOfParameters, IsKnownUnlessTheEquationsChangeWithoutIt) {
  EXPECT_EQ(note_after({"parameters.nu", "0.1"}), "closed form");   // it follows
  EXPECT_EQ(note_after({"parameters.T", "0.5"}), "closed form");    // the same solution, less of it
  EXPECT_EQ(note_after({"parameters.speed", "1"}), "closed form");  // no change
  const auto other = note_after({"parameters.speed", "2"});
  EXPECT_TRUE(other.starts_with("not available") && other.find("speed") != std::string::npos) << other;
}

}  // namespace
}  // namespace lather::train
