// The cavity at Re = 5000 and at its default resolution.
#include "cavity_tables.hpp"
#include "helpers.hpp"

namespace lather::reference {
namespace {

TEST(CavityDefault, HasTheTabulatedCentrelinesOfTheSmoothedLid) {
  const auto flow = solved("lid-driven-cavity", {}, shared_cache());
  const double y[] = {.0547, .0625, .0703, .1016, .1719, .2813, .4531, .5,
                      .6172, .7344, .8516, .9531, .9609, .9688, .9766};
  const double u[] = {-.410952, -.431199, -.441053, -.413470, -.335104, -.233906, -.075422, -.031768,
                      .080486,  .202578,  .344771,  .472680,  .471934,  .472019,  .490169};
  const double x[] = {.0625, .0703, .0781, .0938, .1563, .2266, .2344, .5,
                      .8047, .8594, .9063, .9453, .9531, .9609, .9688};
  const double v[] = {.428568,  .438208,  .442135,  .436253,  .361816,  .286651,  .278482, .011792,
                      -.307428, -.372911, -.426116, -.536907, -.564927, -.564613, -.512652};
  for (int i = 0; i < 15; ++i) {
    EXPECT_NEAR(flow->value(0, {0.5, y[i]}), u[i], 2e-6) << "y = " << y[i];
    EXPECT_NEAR(flow->value(1, {x[i], 0.5}), v[i], 2e-6) << "x = " << x[i];
  }
  EXPECT_NEAR(flow->value(3, {0.515, 0.535}), -0.1209493, 1e-6);
}

TEST(CavityDefault, MeetsItsEquationsInside) {
  const auto flow = solved("lid-driven-cavity", {}, shared_cache());
  for (int i = 0; i < 60; ++i) {
    const double x = Random(11, 0).uniform(i, 0.1, 0.9), y = Random(11, 1).uniform(i, 0.1, 0.9);
    const auto D = [&](int field, int a, int b) { return flow->derivative(field, {a, b}, {x, y}); };
    const double u = D(0, 0, 0), v = D(1, 0, 0);
    EXPECT_NEAR(u * D(0, 1, 0) + v * D(0, 0, 1) + D(2, 1, 0) - (D(0, 2, 0) + D(0, 0, 2)) / 5000, 0, 2e-3);
    EXPECT_NEAR(u * D(1, 1, 0) + v * D(1, 0, 1) + D(2, 0, 1) - (D(1, 2, 0) + D(1, 0, 2)) / 5000, 0, 2e-3);
  }
}

// Their second-order grid misses the spectral benchmark of the next test by up to 1.9e-2
// in v near the right wall (Re = 1000, x = 0.9453: -0.39188 against our -0.41038), and
// more at Re = 5000 (x = 0.9688: 2.3e-2), so no closer agreement can be asked for.
TEST(CavityUnitLid, AgreesWithGhiaWithinTheirSpread) {
  expect_ghia(
      *solved("lid-driven-cavity", {{"reynolds", 1000}, {"lid", "unit"}, {"points", 64}}, shared_cache()), 2,
      2e-2);
  expect_ghia(*solved("lid-driven-cavity", {{"lid", "unit"}}, shared_cache()), 3, 2.5e-2);
}

// Botella & Peyret (1998), spectral with the corner singularity subtracted, Re = 1000: figures and places as
// given in several independent public transcriptions of their tables (the paper itself was not available); a
// later spectral computation quoted next to one of them has -0.5270773 for the last.
TEST(CavityUnitLid, AgreesWithTheBenchmarkExtremaAtReynolds1000) {
  const auto flow =
      solved("lid-driven-cavity", {{"reynolds", 1000}, {"lid", "unit"}, {"points", 64}}, shared_cache());
  EXPECT_NEAR(flow->value(0, {0.5, 0.1717}), -0.3885698, 1e-3);
  EXPECT_NEAR(flow->value(1, {0.1578, 0.5}), 0.3769447, 1e-3);
  EXPECT_NEAR(flow->value(1, {0.9092, 0.5}), -0.5270771, 1e-3);
}

}  // namespace
}  // namespace lather::reference
