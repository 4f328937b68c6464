#include "lather/reference/cavity_solver.hpp"

#include <algorithm>
#include <cmath>

#include "lather/reference/numerics/dense_newton.hpp"

namespace lather::reference {

long double lid_speed(Lid lid, long double x) {
  if (lid == Lid::unit) return 1;
  return 1 - std::cosh(50 * (x - 0.5L)) / std::cosh(25.0L);
}

namespace {

using Real = long double;

// Unknowns: psi at the interior nodes (i, j), 1 <= i, j <= N-1. Equations: the vorticity equation there,
// except in the layer next to the walls, where the condition on the normal derivative at the wall replaces
// it.
class CavityCollocation {
 public:
  CavityCollocation(int N, double reynolds, Lid lid)
      : N_(N),
        Re_(reynolds),
        line_(chebyshev_line<Real>(N, 0, 1)),
        D1_(line_.D),
        D2_(product(D1_, D1_)),
        D3_(product(D2_, D1_)),
        D4_(product(D2_, D2_)),
        d1_(converted<double>(D1_)),
        d2_(converted<double>(D2_)),
        d3_(converted<double>(D3_)),
        d4_(converted<double>(D4_)) {
    for (const Real x : line_.nodes) lid_.push_back(lid_speed(lid, x));
  }

  const ChebyshevLine<Real>& line() const { return line_; }
  std::size_t unknowns() const { return static_cast<std::size_t>(N_ - 1) * (N_ - 1); }
  std::size_t index(int i, int j) const { return static_cast<std::size_t>(i - 1) * (N_ - 1) + (j - 1); }

  Table<Real> field(std::span<const Real> x) const {
    Table<Real> psi(N_ + 1, N_ + 1);
    for (int i = 1; i < N_; ++i)
      for (int j = 1; j < N_; ++j) psi(i, j) = x[index(i, j)];
    return psi;
  }

  void residual(std::span<const Real> x, std::span<Real> r) const {
    const Parts p = parts(field(x));
    const Table<Real> mixed = product_transposed(product(D2_, p.psi), D2_), xxxx = product(D4_, p.psi),
                      yyyy = product_transposed(p.psi, D4_);
    for (int i = 1; i < N_; ++i)
      for (int j = 1; j < N_; ++j) {
        Real& out = r[index(i, j)];
        if (j == N_ - 1)
          out = p.psi_y(i, N_) - lid_[i];
        else if (j == 1)
          out = p.psi_y(i, 0);
        else if (i == 1)
          out = p.psi_x(0, j);
        else if (i == N_ - 1)
          out = p.psi_x(N_, j);
        else
          out = (xxxx(i, j) + 2 * mixed(i, j) + yyyy(i, j)) / Re_ -
                (p.psi_y(i, j) * p.lap_x(i, j) - p.psi_x(i, j) * p.lap_y(i, j));
      }
  }

  void linearize(std::span<const Real> x) { at_ = parts(field(x)); }

  void jacobian_row(std::size_t row, std::span<double> entries) const {
    const int i = static_cast<int>(row) / (N_ - 1) + 1, j = static_cast<int>(row) % (N_ - 1) + 1;
    if (j == 1 || j == N_ - 1) {
      for (int l = 1; l < N_; ++l) entries[index(i, l)] = d1_(j == 1 ? 0 : N_, l);
    } else if (i == 1 || i == N_ - 1) {
      for (int k = 1; k < N_; ++k) entries[index(k, j)] = d1_(i == 1 ? 0 : N_, k);
    } else {
      const double nu = 1 / Re_;
      const auto u = static_cast<double>(at_.psi_y(i, j)), minus_v = static_cast<double>(at_.psi_x(i, j));
      const auto lap_x = static_cast<double>(at_.lap_x(i, j)), lap_y = static_cast<double>(at_.lap_y(i, j));
      for (int k = 1; k < N_; ++k) {
        const double xx = 2 * nu * d2_(i, k) - u * d1_(i, k), x = minus_v * d2_(i, k);
        double* line = &entries[index(k, 1)] - 1;
        for (int l = 1; l < N_; ++l) line[l] = xx * d2_(j, l) + x * d1_(j, l);
        line[j] += nu * d4_(i, k) - u * d3_(i, k) + lap_y * d1_(i, k);
      }
      double* line = &entries[index(i, 1)] - 1;
      for (int l = 1; l < N_; ++l) line[l] += nu * d4_(j, l) + minus_v * d3_(j, l) - lap_x * d1_(j, l);
    }
  }

 private:
  struct Parts {
    Table<Real> psi, psi_x, psi_y, lap_x, lap_y;  // lap: Δpsi
  };
  Parts parts(Table<Real> psi) const {
    Parts p;
    p.psi_x = product(D1_, psi);
    p.psi_y = product_transposed(psi, D1_);
    p.lap_x = product(D3_, psi);
    p.lap_y = product_transposed(psi, D3_);
    const Table<Real> xyy = product_transposed(p.psi_x, D2_), xxy = product(D2_, p.psi_y);
    for (std::size_t k = 0; k < psi.data.size(); ++k) {
      p.lap_x.data[k] += xyy.data[k];
      p.lap_y.data[k] += xxy.data[k];
    }
    p.psi = std::move(psi);
    return p;
  }

  int N_;
  double Re_;
  ChebyshevLine<Real> line_;
  Table<Real> D1_, D2_, D3_, D4_;
  Table<double> d1_, d2_, d3_, d4_;
  std::vector<Real> lid_;
  Parts at_;
};

struct Level {
  int points;
  Table<Real> psi;
};

// Solves at one Reynolds number on one grid, starting from a solution on any grid (empty: fluid at rest).
Level solve_level(int points, double reynolds, Lid lid, const Level& start, double tolerance) {
  CavityCollocation equations(points, reynolds, lid);
  std::vector<Real> x(equations.unknowns());
  if (start.points > 0) {
    const auto from = chebyshev_line<Real>(start.points, 0, 1);
    const auto B = interpolation_matrix<Real>(from, equations.line().nodes);
    const auto psi = product_transposed(product(B, start.psi), B);
    for (int i = 1; i < points; ++i)
      for (int j = 1; j < points; ++j) x[equations.index(i, j)] = psi(i, j);
  }
  NewtonProblem problem{
      "lid-driven-cavity", [&](std::span<const Real> v, std::span<Real> r) { equations.residual(v, r); },
      [&](std::span<const Real> v) { equations.linearize(v); },
      [&](std::size_t row, std::span<double> entries) { equations.jacobian_row(row, entries); }};
  solve_newton(problem, {.tolerance = tolerance}, x);
  return {points, equations.field(x)};
}

}  // namespace

Table<Real> solve_cavity(const CavitySettings& settings) {
  // Continuation on a coarse grid, then the target Reynolds number on finer ones.
  constexpr double kFirstReynolds = 100, kRatio = 1.6;
  const int coarse = std::min(settings.points, 48);
  Level level{0, {}};
  double Re = std::min(kFirstReynolds, settings.reynolds);
  for (;;) {
    level = solve_level(coarse, Re, settings.lid, level, 1e-6);
    if (Re >= settings.reynolds) break;
    Re = std::min(Re * kRatio, settings.reynolds);
  }
  if (settings.points > 64) level = solve_level(64, Re, settings.lid, level, 1e-6);
  return solve_level(settings.points, Re, settings.lid, level, 1e-14).psi;
}

}  // namespace lather::reference
