#include "helpers.hpp"

namespace lather::reference {
namespace {

TEST(Wave, SolvesItsEquationAndStartsAtRest) {
  const auto wave = solved("wave");
  for (int i = 0; i < 20; ++i) {
    const double x = Random(1, 0).uniform(i), t = Random(1, 1).uniform(i);
    EXPECT_NEAR(wave->derivative(0, {0, 2}, {x, t}), 4 * wave->derivative(0, {2, 0}, {x, t}), 1e-11);
    EXPECT_NEAR(wave->value(0, {x, 0}), std::sin(kPi * x) + 0.5 * std::sin(4 * kPi * x), 1e-15);
    EXPECT_NEAR(wave->derivative(0, {0, 1}, {x, 0}), 0, 1e-15);
    EXPECT_NEAR(wave->value(0, {1, t}), 0, 1e-14);
  }
  expect_derivatives_match_differences(*wave, {0.3, 0.4}, 1e-3, 1e-6);
}

TEST(Burgers, HasTheTabulatedValues) {
  const auto burgers = solved("burgers");
  const double rows[4][5] = {
      {0.25, -0.12640470199812, -0.79497435913313, -0.80319842084063, -0.17500950016596},
      {0.5, -0.89804964225283, -0.95815955341891, -0.59276953440205, -0.12178942690323},
      {0.75, -0.76103662855956, -0.80039599247503, -0.46141329685867, -0.09336609093308},
      {1, -0.59425616758873, -0.66548156766400, -0.37618139574812, -0.07569594448614}};
  const double x[4] = {0.01, 0.1, 0.5, 0.9};
  for (const auto& row : rows)
    for (int k = 0; k < 4; ++k) {
      EXPECT_NEAR(burgers->value(0, {x[k], row[0]}), row[k + 1], 2e-14);
      EXPECT_NEAR(burgers->value(0, {-x[k], row[0]}), -row[k + 1], 2e-14);
    }
  EXPECT_NEAR(burgers->derivative(0, {1, 0}, {0, 0.25}), -12.7599, 5e-5);
  EXPECT_NEAR(burgers->derivative(0, {1, 0}, {0, 0.5}), -151.830, 5e-4);
  EXPECT_NEAR(burgers->derivative(0, {1, 0}, {0, 1}), -83.9646,
              1e-4);  // printed truncated, not rounded: -83.96468
}

TEST(Burgers, KeepsInitialAndBoundaryValues) {
  const auto burgers = solved("burgers");
  for (int i = 0; i < 10; ++i) {
    const double x = Random(2, 0).uniform(i, -1, 1), t = Random(2, 1).uniform(i);
    EXPECT_NEAR(burgers->value(0, {x, 0}), -std::sin(kPi * x), 1e-15);
    EXPECT_NEAR(burgers->derivative(0, {2, 0}, {x, 0}), kPi * kPi * std::sin(kPi * x), 1e-11);
    EXPECT_NEAR(burgers->value(0, {x, 1e-9}), -std::sin(kPi * x), 1e-8);
    EXPECT_NEAR(burgers->value(0, {-1, t}), 0, 1e-14);
    EXPECT_NEAR(burgers->value(0, {1, t}), 0, 1e-14);
  }
}

// u_t comes from the equation, so this tests that it is also the rate of change of the integral.
TEST(Burgers, DerivativesMatchDifferencesAlsoInTheShock) {
  const auto burgers = solved("burgers");
  expect_derivatives_match_differences(*burgers, {0.3, 0.2}, 1e-3, 1e-6);
  expect_derivatives_match_differences(*burgers, {-0.6, 0.9}, 1e-3, 1e-7);
  expect_derivatives_match_differences(*burgers, {0.004, 0.5}, 1e-4, 1e-5);
}

TEST(Burgers, QuadratureIsConvergedAtItsDefaultDensity) {
  const auto standard = solved("burgers"), finer = solved("burgers", {{"density", 6}});
  for (int i = 0; i < 50; ++i) {
    const double x = Random(3, 0).uniform(i, -0.2, 0.2), t = Random(3, 1).uniform(i);
    EXPECT_NEAR(standard->value(0, {x, t}), finer->value(0, {x, t}), 1e-13);
    const double slope = finer->derivative(0, {1, 0}, {x, t});
    EXPECT_NEAR(standard->derivative(0, {1, 0}, {x, t}), slope, 1e-12 * (1 + std::abs(slope)));
  }
}

TEST(SelfSimilarBurgers, HasTheTabulatedProfile) {
  const auto profile = solved("burgers-selfsimilar");
  EXPECT_NEAR(profile->value(0, {0.5}), -0.428989529, 5e-10);
  EXPECT_NEAR(profile->value(0, {1}), -0.726972108, 5e-10);
  EXPECT_NEAR(profile->value(0, {2}), -1.26502954, 5e-9);
  EXPECT_NEAR(profile->value(0, {5}), -3.92013765, 5e-9);
  EXPECT_NEAR(profile->value(0, {10}), -21.1208529, 5e-8);
  EXPECT_NEAR(profile->value(0, {30}), -16606.7975, 5e-5);
  EXPECT_EQ(profile->unknowns().at("lambda"), 0.5);
  // U = -z + z³ + z⁴ U_1 with the tabulated U_1
  const double table[][2] = {
      {0.05, -0.17346925}, {0.2, -0.59667302}, {1, -0.72697211}, {10, -0.10111209}, {30, -0.05379852}};
  for (const auto& [z, U1] : table)
    EXPECT_NEAR((profile->value(0, {z}) + z - z * z * z) / std::pow(z, 4), U1, z < 0.1 ? 2e-8 : 6e-9);
}

TEST(SelfSimilarBurgers, SolvesItsEquationOverTheWholeLine) {
  for (const double lambda : {0.5, 0.25, 1.0 / 6}) {
    const auto profile = solved("burgers-selfsimilar", {{"lambda", lambda}, {"C", 1}});
    for (double z = -30; z <= 30; z += 0.37) {
      const double U = profile->value(0, {z}), U_z = profile->derivative(0, {1}, {z});
      const double R = -lambda * U + ((1 + lambda) * std::tanh(z) + U / std::cosh(z)) * U_z;
      EXPECT_NEAR(R / std::pow(std::cosh(z), lambda / (1 + lambda)), 0, 2e-15) << "z = " << z;
    }
  }
}

TEST(SelfSimilarBurgers, AgreesWithTheClosedFormForOneHalf) {
  const auto profile = solved("burgers-selfsimilar", {{"C", 1}, {"coordinate", "y"}});
  for (const double y : {-3.0, -0.01, 0.0, 0.2, 1.0, 1e6}) {
    const double A = 2 / std::sqrt(3.0);
    EXPECT_NEAR(profile->value(0, {y}), -A * std::sinh(std::asinh(3 * y / A) / 3),
                1e-14 * (1 + std::cbrt(std::abs(y))));
  }
  expect_derivatives_match_differences(*profile, {0.7}, 1e-3, 1e-8);
  expect_derivatives_match_differences(*solved("burgers-selfsimilar"), {-1.2}, 1e-3, 1e-8);
}

TEST(SelfSimilarBurgers, TakesTheCubicCoefficientInsteadOfTheScale) {
  const auto by_C = solved("burgers-selfsimilar", {{"C", 1}}),
             by_c3 = solved("burgers-selfsimilar", {{"c3", 5.0 / 6}});
  EXPECT_EQ(by_C->value(0, {2}), by_c3->value(0, {2}));
  EXPECT_NE(message_of([] {
              solved("burgers-selfsimilar", {{"C", 1}, {"c3", 1}});
            }).find("not both"),
            std::string::npos);
}

TEST(References, NameWhatWasWrong) {
  EXPECT_NE(message_of([] { solved("burger"); }).find("did you mean 'burgers'"), std::string::npos);
  EXPECT_NE(message_of([] { solved("burgers", {{"visc", 1}}); }).find("known: nu"), std::string::npos);
  EXPECT_NE(message_of([] { solved("kdv", {{"modes", 14}}); }).find("prime factor"), std::string::npos);
  const auto burgers = solved("burgers");
  EXPECT_NE(message_of([&] {
              burgers->value(0, {0.0, 1.5});
            }).find("t = 1.5 lies outside [0, 1]"),
            std::string::npos);
  EXPECT_NE(message_of([&] { burgers->value(1, {0.0, 0.5}); }).find("field 1"), std::string::npos);
  EXPECT_NE(message_of([&] {
              burgers->derivative(0, {3, 2}, {0.0, 0.5});
            }).find("order 5"),
            std::string::npos);
  EXPECT_NE(message_of([&] { burgers->value(0, {NAN, 0.5}); }).find("outside"), std::string::npos);
  EXPECT_NE(message_of([&] { burgers->field_index("v"); }).find("unknown field"), std::string::npos);
}

}  // namespace
}  // namespace lather::reference
