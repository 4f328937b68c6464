// Curves of seeds as one, by hand.
#include "lather/report/draw/seed_curves.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace lather::report {
namespace {

constexpr double kUntimed = std::numeric_limits<double>::infinity();

TEST(SeedCurves, MeetAtTheStepsAllOfThemHave) {
  const std::vector<SeedCurve> seeds = {{{{1, 10, 4}, {2, 20, 2}, {4, 40, 1}}, false},
                                        {{{1, 30, 1}, {3, 90, 7}, {4, 120, 100}, {5, 150, 3}}, false}};
  const auto curves = seeds_together(seeds, PanelClock::steps, 3);
  ASSERT_EQ(curves.size(), 1u);
  const PanelCurve& curve = curves[0];
  EXPECT_EQ(curve.method, 3u);
  EXPECT_EQ(curve.x, (std::vector<double>{1, 4}));
  ASSERT_EQ(curve.value.size(), 2u);
  EXPECT_NEAR(curve.value[0], 2, 1e-12);  // geometric means
  EXPECT_NEAR(curve.value[1], 10, 1e-12);
  EXPECT_EQ(curve.low, (std::vector<double>{1, 1}));
  EXPECT_EQ(curve.high, (std::vector<double>{4, 100}));
  EXPECT_EQ(seeds_together(seeds, PanelClock::seconds, 3)[0].x, (std::vector<double>{20, 80}));
}

TEST(SeedCurves, OfOneSeedHaveNoBand) {
  const auto curves = seeds_together({{{{1, 1, 0.5}}, false}, {{}, false}}, PanelClock::steps, 0);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].x, (std::vector<double>{1}));
  EXPECT_TRUE(curves[0].low.empty() && curves[0].high.empty());
}

TEST(SeedCurves, WithoutTimesAreDrawnOverSteps) {
  const std::vector<SeedCurve> seeds = {{{{1, 1, 4}, {2, kUntimed, 2}}, false}};
  EXPECT_EQ(seeds_together(seeds, PanelClock::steps, 0)[0].x.size(), 2u);
  EXPECT_EQ(seeds_together(seeds, PanelClock::seconds, 0)[0].x.size(), 1u);
}

TEST(SeedCurves, ThatDivergedStayAlone) {
  const std::vector<SeedCurve> seeds = {{{{1, 1, 4}, {2, 2, 9}}, false}, {{{1, 1, 1e200}}, true}};
  const auto together = seeds_together(seeds, PanelClock::steps, 0);
  ASSERT_EQ(together.size(), 2u);
  EXPECT_EQ(together[0].x.size(), 2u);
  EXPECT_TRUE(together[1].diverged && together[1].cut && !together[0].diverged);
  const auto apart = seeds_apart(seeds, PanelClock::steps, 0);
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_EQ(apart[0].value, (std::vector<double>{4, 9}));
  EXPECT_TRUE(apart[1].diverged && !apart[0].diverged);
}

}  // namespace
}  // namespace lather::report
