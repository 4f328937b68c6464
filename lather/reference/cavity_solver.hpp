#pragma once
// Steady flow in the unit square driven by its lid, in stream-function form: u = psi_y, v = -psi_x,
//
//   Δ²psi/Re - (psi_y Δpsi_x - psi_x Δpsi_y) = 0,
//   psi = 0 and no slip on the walls, psi_y = lid(x) on the top,
//
// collocated at (N+1)² Chebyshev points and solved by Newton's method with continuation in Re.

#include <vector>

#include "lather/reference/numerics/chebyshev.hpp"

namespace lather::reference {

enum class Lid { smoothed, unit };  // 1 - cosh(50(x - 1/2))/cosh(25), or 1

struct CavitySettings {
  int points = 96;  // N
  double reynolds = 5000;
  Lid lid = Lid::smoothed;
};

long double lid_speed(Lid lid, long double x);

// psi at the nodes, psi(i, j) at (x_i, y_j).
Table<long double> solve_cavity(const CavitySettings& settings);

}  // namespace lather::reference
