#include "lather/train/starting_point.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"

namespace lather::train {
namespace {

StartingPoint two_layers() {
  StartingPoint start{"runs/a", 7, {}, {1, 2, 3, 4, 0.1, 6}, {9}};
  start.layout.add_matrix("layer1.weight", 2, 2);
  start.layout.add_vector("layer1.bias", 2);
  return start;
}

TEST(StartingPoint, GivesTheBlocksThatFitAndNamesTheOthers) {
  optim::ParameterLayout layout;
  layout.add_vector("layer1.bias", 2);
  layout.add_matrix("layer1.weight", 2, 2);
  layout.add_matrix("output.weight", 2, 1);
  std::vector<double> x(8, -1), frozen(1);
  const std::string note = take_over(two_layers(), layout, x, frozen);
  EXPECT_EQ(x, (std::vector<double>{0.1, 6, 1, 2, 3, 4, -1, -1}));
  EXPECT_EQ(frozen, std::vector<double>{9});
  EXPECT_EQ(note, "6 of 8 parameters are those of runs/a; initialized afresh: output.weight (not there)");
}

TEST(StartingPoint, ThatFitsNowhereIsRefused) {
  optim::ParameterLayout layout;
  layout.add_matrix("layer1.weight", 2, 3);
  layout.add_vector("layer1.bias", 2);
  std::vector<double> x(8), frozen(1), none;
  EXPECT_THROW(take_over(two_layers(), layout, x, frozen), Error);
  EXPECT_THROW(take_over(two_layers(), two_layers().layout, x, none), Error);
}

TEST(StartingPoint, IsKeptBitForBit) {
  const StartingPoint start = two_layers();
  const auto back = starting_point_from_json(nlohmann::json::parse(to_json(start).dump()));
  EXPECT_EQ(back.parameters, start.parameters);
  EXPECT_EQ(back.frozen, start.frozen);
  EXPECT_EQ(back.layout.blocks().size(), 2u);
  EXPECT_TRUE(back.layout.blocks()[0].matrix);
  EXPECT_THROW(starting_point_from_json({{"run", "x"}}), Error);
}

}  // namespace
}  // namespace lather::train
