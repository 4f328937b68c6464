// The time-dependent references on coarse settings; the defaults are tested in periodic_slow_test.cpp.
#include <numbers>

#include "helpers.hpp"
#include "lather/reference/periodic.hpp"
#include "temporary_folder.hpp"

namespace lather::reference {
namespace {

const nlohmann::json kCoarseKdv = {{"modes", 512}, {"steps", 300}, {"degree", 16}, {"tolerance", 1e-10}};
const nlohmann::json kCoarseAllenCahn = {{"modes", 1024}, {"steps", 100}, {"tolerance", 1e-8}};
const nlohmann::json kCoarseGinzburgLandau = {
    {"modes", 128}, {"steps", 100}, {"tolerance", 1e-9}, {"end_time", 0.1}};
const nlohmann::json kCoarseGrayScott = {
    {"modes", 96}, {"steps", 100}, {"degree", 16}, {"tolerance", 1e-7}, {"end_time", 0.004}};

TEST(Kdv, HasTheTabulatedValuesToItsAccuracy) {
  const auto kdv = solved("kdv", kCoarseKdv, shared_cache());
  const double x[6] = {-1, -0.5, 0, 0.25, 0.5, 0.75};
  const double rows[3][7] = {
      {0.25, -0.8045679225, 0.0009180930, 0.8077412748, 1.0055334620, -0.1039195061, -0.9955625626},
      {0.5, -0.5934137262, -0.0001010802, 0.7483610120, 0.9406944683, -0.2857118140, -0.8489656569},
      {1, -0.3157358615, -0.2219816976, -0.6515899767, -0.4932996859, -0.4416305413, -0.5555424816}};
  for (const auto& row : rows)
    for (int k = 0; k < 6; ++k) EXPECT_NEAR(kdv->value(0, {x[k], row[0]}), row[k + 1], 2e-8);
}

TEST(Kdv, SolvesItsEquationAndConservesMassAndEnergy) {
  const auto kdv = solved("kdv", kCoarseKdv, shared_cache());
  for (int i = 0; i < 30; ++i) {
    const double x = Random(4, 0).uniform(i, -1, 1), t = Random(4, 1).uniform(i);
    const double R = kdv->derivative(0, {0, 1}, {x, t}) +
                     kdv->value(0, {x, t}) * kdv->derivative(0, {1, 0}, {x, t}) +
                     0.022 * 0.022 * kdv->derivative(0, {3, 0}, {x, t});
    EXPECT_NEAR(R, 0, 2e-5);  // of terms of size 100
  }
  double mass = 0, energy = 0;
  constexpr int n = 512;
  for (int i = 0; i < n; ++i) {
    const double u = kdv->value(0, {-1 + 2.0 * i / n, 1});
    mass += u / n, energy += u * u / n;
  }
  EXPECT_NEAR(mass, 0, 1e-14);
  EXPECT_NEAR(energy, 0.5, 1e-7);
}

TEST(KuramotoSivashinsky, SolvesItsEquationOnItsOwnIntervalAndKeepsItsMean) {
  const auto u = solved("kuramoto-sivashinsky",
                        {{"modes", 384}, {"steps", 200}, {"tolerance", 1e-9}, {"end_time", 0.2}});
  EXPECT_EQ(u->domain()[0].high, 2 * kPi);
  for (int i = 0; i < 30; ++i) {
    const double x = Random(12, 0).uniform(i, 0, 2 * kPi), t = Random(12, 1).uniform(i, 0, 0.2);
    const auto D = [&](int a, int b) { return u->derivative(0, {a, b}, {x, t}); };
    const double R =
        D(0, 1) + 100.0 / 16 * D(0, 0) * D(1, 0) + 100.0 / 256 * D(2, 0) + 100.0 / 65536 * D(4, 0);
    EXPECT_NEAR(R, 0, 1e-3);  // of terms of size 100
    EXPECT_NEAR(u->value(0, {x, 0}), std::cos(x) * (1 + std::sin(x)), 1e-13);
  }
  double mean = 0;
  for (int i = 0; i < 192; ++i) mean += u->value(0, {2 * kPi * i / 192, 0.2}) / 192;
  EXPECT_NEAR(mean, 0, 1e-13);
  expect_derivatives_match_differences(*u, {2.2, 0.15}, 1e-4, 1e-4);
}

TEST(AllenCahn, HasTheTabulatedValuesToItsAccuracy) {
  const auto u = solved("allen-cahn", kCoarseAllenCahn, shared_cache());
  EXPECT_NEAR(u->value(0, {0.5, 0.25}), -0.000547947993, 1e-7);
  EXPECT_NEAR(u->value(0, {0.25, 0.5}), 0.473832189308, 1e-7);
  EXPECT_NEAR(u->value(0, {-0.5, 0.5}), -0.003807962824, 1e-7);
  EXPECT_NEAR(u->value(0, {0.25, 1}), 0.988474647666, 1e-7);
  EXPECT_NEAR(u->value(0, {-1, 0.5}), -0.99988608, 1e-7);
}

TEST(AllenCahn, SolvesItsEquationAndIsEven) {
  const auto u = solved("allen-cahn", kCoarseAllenCahn, shared_cache());
  for (int i = 0; i < 30; ++i) {
    const double x = Random(5, 0).uniform(i, -1, 1), t = Random(5, 1).uniform(i, 0.1, 1),
                 v = u->value(0, {x, t});
    EXPECT_NEAR(
        u->derivative(0, {0, 1}, {x, t}) - 1e-4 * u->derivative(0, {2, 0}, {x, t}) + 5 * v * v * v - 5 * v, 0,
        1e-5);
    EXPECT_NEAR(u->value(0, {-x, t}), v, 1e-12);
  }
  EXPECT_NEAR(u->value(0, {0.3, 0}), 0.09 * std::cos(0.3 * std::numbers::pi), 1e-6);
  expect_derivatives_match_differences(*u, {0.4, 0.6}, 2e-3, 1e-4);
}

// u_x jumps at x = ±1 and t = 0: what the retained modes miss there is added in closed form.
TEST(AllenCahn, HasTheTipOfItsKink) {
  const auto coarse = solved("allen-cahn", kCoarseAllenCahn, shared_cache());
  for (const double x : {-1.0, 1.0, 0.9997, -0.3}) {
    const double u = x * x * std::cos(std::numbers::pi * x);
    EXPECT_NEAR(coarse->value(0, {x, 0}), u, 1e-15);
  }
  EXPECT_NEAR(coarse->derivative(0, {1, 0}, {0.9997, 0}), -2, 1e-2);
  EXPECT_EQ(coarse->derivative(0, {1, 0}, {1, 0}), 0);
  // The kink 2 |s| of the heat equation, s = 1 - x: u = -1 + 4 sqrt(t/1e4 / pi) + O(t).
  const double t = 1e-5;
  EXPECT_NEAR(coarse->value(0, {1, t}), -1 + 4 * std::sqrt(1e-4 * t / std::numbers::pi), 1e-7);
  expect_derivatives_match_differences(*coarse, {0.9998, 5e-4}, 1e-6, 1e-4);
}

TEST(GinzburgLandau, SolvesItsEquationsAndIsOddUnderReflection) {
  const auto A = solved("ginzburg-landau", kCoarseGinzburgLandau);
  for (int i = 0; i < 20; ++i) {
    const double x = Random(6, 0).uniform(i, -1, 1), y = Random(6, 1).uniform(i, -1, 1),
                 t = Random(6, 2).uniform(i, 0, 0.1);
    const auto D = [&](int field, int a, int b, int c) { return A->derivative(field, {a, b, c}, {x, y, t}); };
    const double u = D(0, 0, 0, 0), v = D(1, 0, 0, 0), m = u * u + v * v;
    EXPECT_NEAR(D(0, 0, 0, 1), 0.004 * (D(0, 2, 0, 0) + D(0, 0, 2, 0)) + 10 * (u - (u - 1.5 * v) * m), 1e-4);
    EXPECT_NEAR(D(1, 0, 0, 1), 0.004 * (D(1, 2, 0, 0) + D(1, 0, 2, 0)) + 10 * (v - (v + 1.5 * u) * m), 1e-4);
    EXPECT_NEAR(A->value(0, {-x, -y, t}), -u, 1e-12);
  }
  EXPECT_NEAR(A->value(0, {0.1, 0.2, 0}), 2 * std::exp(-1.25), 1e-9);
  EXPECT_NEAR(A->value(1, {0.1, 0.2, 0}), std::exp(-1.25), 1e-9);
  expect_derivatives_match_differences(*A, {0.3, -0.2, 0.05}, 1e-3, 1e-4);
}

TEST(GrayScott, SolvesItsEquations) {
  const auto gs = solved("gray-scott", kCoarseGrayScott);
  for (int i = 0; i < 20; ++i) {
    const double x = Random(9, 0).uniform(i, -1, 1), y = Random(9, 1).uniform(i, -1, 1),
                 t = Random(9, 2).uniform(i, 0.002, 0.004);
    const auto D = [&](int field, int a, int b, int c) {
      return gs->derivative(field, {a, b, c}, {x, y, t});
    };
    const double u = D(0, 0, 0, 0), v = D(1, 0, 0, 0);
    EXPECT_NEAR(D(0, 0, 0, 1), 0.2 * (D(0, 2, 0, 0) + D(0, 0, 2, 0)) + 40 * (1 - u) - 1000 * u * v * v, 1e-2);
    EXPECT_NEAR(D(1, 0, 0, 1), 0.1 * (D(1, 2, 0, 0) + D(1, 0, 2, 0)) - 100 * v + 1000 * u * v * v, 1e-2);
  }
  // Away from the edge, where the periodic continuation of the data jumps by 1e-4, the initial state is as
  // requested.
  EXPECT_NEAR(gs->value(0, {0.2, -0.1, 0}), 1 - std::exp(-10 * (0.25 * 0.25 + 0.08 * 0.08)), 1e-5);
  EXPECT_NEAR(gs->value(1, {0.2, -0.1, 0}), std::exp(-10 * (0.15 * 0.15 + 0.12 * 0.12)), 1e-5);
}

TEST(PeriodicReference, GriddedEvaluationEqualsThePlainOne) {
  const auto A =
      solved("ginzburg-landau", {{"modes", 64}, {"steps", 60}, {"tolerance", 1e-6}, {"end_time", 0.1}});
  constexpr std::size_t n = 200;
  std::vector<double> points, plain(n), fast(n);
  for (std::size_t i = 0; i < n; ++i) {
    points.push_back(Random(10, 0).uniform(i, -1, 1));
    points.push_back(Random(10, 1).uniform(i, -1, 1));
    points.push_back(i == 0 ? 0 : i == 1 ? 0.1 : Random(10, 2).uniform(i, 0, 0.1));
  }
  for (const std::vector<int>& orders : {std::vector{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 1}}) {
    evaluate_periodic(*A, Summation::direct, points, n, 1, orders, plain);
    evaluate_periodic(*A, Summation::gridded, points, n, 1, orders, fast);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(fast[i], plain[i], 1e-9);
  }
}

TEST(PeriodicReference, ReadFromTheCacheItIsTheSameToTheLastBit) {
  const test::TemporaryFolder folder;
  const auto first = solved("kdv", kCoarseKdv, folder.path());
  const auto second = solved("kdv", kCoarseKdv, folder.path());
  EXPECT_NE(second->provenance.find("read from"), std::string::npos);
  EXPECT_EQ(first->value(0, {0.123, 0.77}), second->value(0, {0.123, 0.77}));
}

}  // namespace
}  // namespace lather::reference
