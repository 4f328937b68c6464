#pragma once
// What any Boussinesq profile in the chart "physical" must satisfy; see docs/boussinesq.md.
#include "helpers.hpp"

namespace lather::reference {

enum { kOmega, kU1, kU2, kPhi, kPsi, kTheta };

// The largest |R1| … |R6| over an n x n grid of [low, high]².
inline double largest_boussinesq_residual(const ReferenceSolution& profile, double low, double high, int n) {
  const double lambda = profile.unknowns().at("lambda");
  double worst = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const double y1 = low + (high - low) * i / (n - 1), y2 = low + (high - low) * j / (n - 1);
      const auto D = [&](int field, int a, int b) { return profile.derivative(field, {a, b}, {y1, y2}); };
      const double V1 = (1 + lambda) * y1 + D(kU1, 0, 0), V2 = (1 + lambda) * y2 + D(kU2, 0, 0);
      const double Phi = D(kPhi, 0, 0), Psi = D(kPsi, 0, 0);
      const double R[6] = {
          D(kOmega, 0, 0) + V1 * D(kOmega, 1, 0) + V2 * D(kOmega, 0, 1) - Phi,
          (2 + D(kU1, 1, 0)) * Phi + V1 * D(kPhi, 1, 0) + V2 * D(kPhi, 0, 1) + D(kU2, 1, 0) * Psi,
          (2 + D(kU2, 0, 1)) * Psi + V1 * D(kPsi, 1, 0) + V2 * D(kPsi, 0, 1) + D(kU1, 0, 1) * Phi,
          D(kU1, 1, 0) + D(kU2, 0, 1),
          D(kOmega, 0, 0) - (D(kU2, 1, 0) - D(kU1, 0, 1)),
          D(kPsi, 1, 0) - D(kPhi, 0, 1)};
      for (const double r : R) worst = std::max(worst, std::abs(r));
    }
  return worst;
}

// Parities in y1, wall, axis and origin.
inline void expect_boussinesq_symmetries(const ReferenceSolution& profile, double tolerance) {
  const double lambda = profile.unknowns().at("lambda");
  for (const double y1 : {0.2, 1.0, 7.0})
    for (const double y2 : {0.0, 0.5, 3.0}) {
      for (const int odd : {kOmega, kU1, kPhi})
        EXPECT_EQ(profile.value(odd, {-y1, y2}), -profile.value(odd, {y1, y2}));
      for (const int even : {kU2, kPsi, kTheta})
        EXPECT_EQ(profile.value(even, {-y1, y2}), profile.value(even, {y1, y2}));
    }
  for (const double s : {0.3, 0.9, 2.0, 10.0}) {
    EXPECT_NEAR(profile.value(kU2, {s, 0}), 0, 1e-13) << "wall";
    for (const int field : {kOmega, kU1, kPhi, kPsi, kTheta})
      EXPECT_NEAR(profile.value(field, {0, s}), 0, tolerance) << "axis " << s;
  }
  EXPECT_NEAR(profile.derivative(kOmega, {1, 0}, {0, 0}), -1, 1e-12);
  EXPECT_NEAR(-3 - 2 * profile.derivative(kU1, {1, 0}, {0, 0}), lambda, tolerance);
  EXPECT_NEAR(profile.derivative(kU2, {0, 1}, {0, 0}), (3 + lambda) / 2, tolerance);
  EXPECT_NEAR(profile.derivative(kPhi, {1, 0}, {0, 0}), -(1 + lambda) / 2, tolerance);
}

}  // namespace lather::reference
