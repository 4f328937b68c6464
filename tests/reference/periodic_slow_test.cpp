// The time-dependent references at their default resolution.
#include "helpers.hpp"

namespace lather::reference {
namespace {

TEST(KdvDefault, HasTheTabulatedValuesAndSolvesItsEquation) {
  const auto kdv = solved("kdv", {}, shared_cache());
  const double x[6] = {-1, -0.5, 0, 0.25, 0.5, 0.75};
  const double rows[3][7] = {
      {0.25, -0.8045679225, 0.0009180930, 0.8077412748, 1.0055334620, -0.1039195061, -0.9955625626},
      {0.5, -0.5934137262, -0.0001010802, 0.7483610120, 0.9406944683, -0.2857118140, -0.8489656569},
      {1, -0.3157358615, -0.2219816976, -0.6515899767, -0.4932996859, -0.4416305413, -0.5555424816}};
  for (const auto& row : rows)
    for (int k = 0; k < 6; ++k) EXPECT_NEAR(kdv->value(0, {x[k], row[0]}), row[k + 1], 1e-10);
  for (int i = 0; i < 100; ++i) {
    const double a = Random(4, 0).uniform(i, -1, 1), t = Random(4, 1).uniform(i);
    const double R = kdv->derivative(0, {0, 1}, {a, t}) +
                     kdv->value(0, {a, t}) * kdv->derivative(0, {1, 0}, {a, t}) +
                     0.022 * 0.022 * kdv->derivative(0, {3, 0}, {a, t});
    EXPECT_NEAR(R, 0, 1e-6);
  }
  expect_derivatives_match_differences(*kdv, {0.2, 0.8}, 1e-4, 1e-5);
}

// The table's u(-1, t) is from a sampled kink and has its error, 9e-8 at t = 0.25; ours agrees between 4096,
// 8192 and 16384 modes to 1e-13 because the coefficients of the kink are exact.
TEST(AllenCahnDefault, HasTheTabulatedValuesAndSolvesItsEquation) {
  const auto u = solved("allen-cahn", {}, shared_cache());
  const double x[4] = {0.5, 0, 0.25, 0.75};
  const double rows[3][5] = {{0.25, -0.000547947993, 0.000174387987, 0.152488581593, -0.834121742316},
                             {0.5, -0.003807962824, 0.001216445068, 0.473832189308, -0.982446161630},
                             {1, -0.064076797728, 0.029579720997, 0.988474647666, -0.999877244578}};
  for (const auto& row : rows)
    for (int k = 0; k < 4; ++k) EXPECT_NEAR(u->value(0, {x[k], row[0]}), row[k + 1], 1e-10);
  EXPECT_NEAR(u->value(0, {-1, 0.25}), -0.99903843, 1.2e-7);
  EXPECT_NEAR(u->value(0, {-1, 1}), -0.99999888, 1e-8);
  for (int i = 0; i < 100; ++i) {
    const double a = Random(5, 0).uniform(i, -1, 1), t = Random(5, 1).uniform(i, 0.01, 1),
                 v = u->value(0, {a, t});
    EXPECT_NEAR(
        u->derivative(0, {0, 1}, {a, t}) - 1e-4 * u->derivative(0, {2, 0}, {a, t}) + 5 * v * v * v - 5 * v, 0,
        1e-6);
  }
}

TEST(GinzburgLandauDefault, HasTheTabulatedValuesAndSolvesItsEquations) {
  const auto A = solved("ginzburg-landau", {}, shared_cache());
  const double table[][4] = {{0, 0, 0, 0},
                             {0.1, 0.2, 0.95133781, 0.06111771},
                             {0.3, -0.4, 0.10645878, 0.88578715},
                             {0.7, 0.5, 0.10641857, 0.12487608}};
  for (const auto& [x, y, u, v] : table) {
    EXPECT_NEAR(A->value(0, {x, y, 1}), u, 1e-8);
    EXPECT_NEAR(A->value(1, {x, y, 1}), v, 1e-8);
  }
  for (int i = 0; i < 50; ++i) {
    const double x = Random(6, 0).uniform(i, -1, 1), y = Random(6, 1).uniform(i, -1, 1),
                 t = Random(6, 2).uniform(i);
    const auto D = [&](int field, int a, int b, int c) { return A->derivative(field, {a, b, c}, {x, y, t}); };
    const double u = D(0, 0, 0, 0), v = D(1, 0, 0, 0), m = u * u + v * v;
    // Terms of size 10; the cubic term has modes that 256 cannot hold, which show in the residual (1e-5) but
    // hardly in A (1e-8).
    EXPECT_NEAR(D(0, 0, 0, 1), 0.004 * (D(0, 2, 0, 0) + D(0, 0, 2, 0)) + 10 * (u - (u - 1.5 * v) * m), 5e-5);
    EXPECT_NEAR(D(1, 0, 0, 1), 0.004 * (D(1, 2, 0, 0) + D(1, 0, 2, 0)) + 10 * (v - (v + 1.5 * u) * m), 5e-5);
  }
}

// The table came from samples of initial data that jump by 1e-4 at the edge of the square; ours are the exact
// coefficients. The difference shows in the seventh digit.
TEST(GrayScottDefault, HasTheTabulatedValuesAndSolvesItsEquations) {
  const auto gs = solved("gray-scott", {}, shared_cache());
  const double table[][5] = {{0, 0, 2, 0.6878164, 0.0734826},      {0.1, 0.2, 2, 0.3608582, 0.3157570},
                             {0.5, 0.5, 2, 0.7043455, 0.0722081},  {-0.3, 0.6, 2, 0.7496774, 0.0382905},
                             {0.1, 0.2, 0.5, 0.9892710, 2.828e-5}, {0.1, 0.2, 1, 0.9768257, 5.584e-4}};
  for (const auto& [x, y, t, u, v] : table) {
    EXPECT_NEAR(gs->value(0, {x, y, t}), u, 5e-7);
    EXPECT_NEAR(gs->value(1, {x, y, t}), v, 5e-7);
  }
  for (int i = 0; i < 50; ++i) {
    const double x = Random(9, 0).uniform(i, -1, 1), y = Random(9, 1).uniform(i, -1, 1),
                 t = Random(9, 2).uniform(i, 0.01, 2);
    const auto D = [&](int field, int a, int b, int c) {
      return gs->derivative(field, {a, b, c}, {x, y, t});
    };
    const double u = D(0, 0, 0, 0), v = D(1, 0, 0, 0);
    EXPECT_NEAR(D(0, 0, 0, 1), 0.2 * (D(0, 2, 0, 0) + D(0, 0, 2, 0)) + 40 * (1 - u) - 1000 * u * v * v, 1e-3);
    EXPECT_NEAR(D(1, 0, 0, 1), 0.1 * (D(1, 2, 0, 0) + D(1, 0, 2, 0)) - 100 * v + 1000 * u * v * v, 1e-3);
  }
}

}  // namespace
}  // namespace lather::reference
