// On a coarse grid; the default one is tested in boussinesq_slow_test.cpp.
#include <numbers>

#include "boussinesq_checks.hpp"
#include "lather/reference/boussinesq/solver.hpp"

namespace lather::reference {
namespace {

const nlohmann::json kCoarse = {{"q_points", 28}, {"eta_points", 22}};

nlohmann::json coarse(const char* chart) {
  auto settings = kCoarse;
  settings["chart"] = chart;
  return settings;
}

TEST(Boussinesq, FindsLambdaToItsAccuracyOnACoarseGrid) {
  const auto profile = solved("boussinesq", coarse("physical"), shared_cache());
  EXPECT_NEAR(profile->unknowns().at("lambda"), 1.920559971, 1e-4);
  expect_boussinesq_symmetries(*profile, 1e-4);
  const double worst = largest_boussinesq_residual(*profile, 0.3, 5, 8);
  EXPECT_LT(worst, 2e-3);
}

TEST(Boussinesq, ChartsAgreeWithEachOther) {
  const auto compact = solved("boussinesq", coarse("compact"), shared_cache()),
             physical = solved("boussinesq", coarse("physical"), shared_cache()),
             in_z = solved("boussinesq", coarse("sinh"), shared_cache()),
             even = solved("boussinesq", coarse("even"), shared_cache());
  const double alpha = 1 / (1 + compact->unknowns().at("lambda")), xi = 0.9, eta = 0.7,
               q = std::exp(-alpha * xi);
  const double y1 = std::sinh(xi) * std::cos(eta), y2 = std::cosh(xi) * std::sin(eta);
  EXPECT_NEAR(physical->value(0, {y1, y2}), q * compact->value(0, {q, eta}), 1e-13);
  EXPECT_NEAR(physical->value(5, {y1, y2}), std::cosh(xi) * q * q * compact->value(1, {q, eta}), 1e-13);
  EXPECT_NEAR(in_z->value(2, {std::asinh(y1), std::asinh(y2)}), physical->value(2, {y1, y2}), 1e-13);
  const double z = std::tanh(0.3424 * xi / 2), Q = std::pow(std::cosh(xi), -alpha);
  EXPECT_NEAR(Q * even->value(0, {z, eta}), physical->value(0, {y1, y2}), 1e-13);
  EXPECT_NEAR(std::cosh(xi) * Q * Q * even->value(1, {z, eta}), physical->value(5, {y1, y2}), 1e-13);
  EXPECT_NEAR(Q * even->value(2, {z, eta}), q * compact->value(2, {q, eta}), 1e-13);
  expect_derivatives_match_differences(*even, {0.4, 0.8}, 1e-3, 1e-6);
  expect_derivatives_match_differences(*even, {0.9, 1.55}, 1e-4, 1e-5);  // in the layer next to the axis
  expect_derivatives_match_differences(*compact, {0.6, 0.8}, 1e-3, 1e-6);
  expect_derivatives_match_differences(*physical, {0.8, 1.4}, 1e-3, 1e-6);
  expect_derivatives_match_differences(*physical, {-0.8, 0.4}, 1e-3, 1e-6);
  expect_derivatives_match_differences(*in_z, {1.1, 0.7}, 1e-3, 1e-6);
}

TEST(Boussinesq, IsSmoothAcrossTheFocusOfItsCoordinates) {
  const auto profile = solved("boussinesq", coarse("physical"), shared_cache());
  EXPECT_NEAR(profile->value(0, {0, 1}), 0, 1e-9);
  const double inside = profile->derivative(1, {1, 0}, {0.0, 1.0}),
               beside = profile->derivative(1, {1, 0}, {0.0, 1.031});
  EXPECT_NEAR(inside, beside, 0.1);
  // On either side of the switch between the two ways of evaluating.
  for (int field = 0; field < 6; ++field)
    EXPECT_NEAR(profile->derivative(field, {0, 1}, {0.02999, 1}),
                profile->derivative(field, {0, 1}, {0.03001, 1}), 2e-4)
        << field;
}

// R3 = J (Δpsi - Omega)/(cosh² q) for any smooth psi, not only the profile: compares the compact form with a
// polynomial.
TEST(Boussinesq, CompactStreamEquationIsTheLaplacian) {
  const double lambda = 1.7, alpha = 1 / (1 + lambda), xi = 0.8, eta = 0.6, q = std::exp(-alpha * xi),
               h = 1e-3;
  const auto psi = [](double y1, double y2) { return y1 * y1 * y1 * y2 + y2 * y2; };  // Δ = 6 y1 y2 + 2
  const auto c = [&](double x, double e) {
    return psi(std::sinh(x) * std::cos(e), std::cosh(x) * std::sin(e)) /
           (std::cosh(x) * std::cosh(x) * std::exp(-alpha * x));
  };
  BoussinesqJet<double> f{};
  const double c_xi = (c(xi + h, eta) - c(xi - h, eta)) / (2 * h);
  f.c = c(xi, eta);
  f.c_q = c_xi / (-alpha * q);
  f.c_q_q_q = (c(xi + h, eta) - 2 * c(xi, eta) + c(xi - h, eta)) / (h * h) / (alpha * alpha);
  f.c_etaeta = (c(xi, eta + h) - 2 * c(xi, eta) + c(xi, eta - h)) / (h * h);
  const double y1 = std::sinh(xi) * std::cos(eta), y2 = std::cosh(xi) * std::sin(eta);
  f.w = (6 * y1 * y2 + 2) / q;
  const auto R = boussinesq_residual(boussinesq_coefficients(q, eta, lambda), q, f);
  EXPECT_NEAR(R.R3, 0, 1e-4);
}

}  // namespace
}  // namespace lather::reference
