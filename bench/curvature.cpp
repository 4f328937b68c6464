// Where a Levenberg–Marquardt iteration spends its time: Burgers with an ansatz, tanh MLP.
//   bench_curvature [threads] [points] [width] [depth]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "best_seconds.hpp"
#include "burgers.hpp"
#include "lather/core/rng.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/pde/objective.hpp"

namespace {

using namespace lather;

constexpr int kRepeats = 20;

void print(const char* what, double seconds, double flops) {
  fmt::print("{:<34} {:8.3f} ms {:8.1f} GF/s\n", what, 1e3 * seconds, flops / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const int threads = argument(1, 2), points = argument(2, 4096);
  const auto problem = bench::burgers(argument(3, 20), argument(4, 4));
  pde::PinnObjective objective(problem, {.threads = threads});
  const auto x = objective.initialize(1);
  pde::Points at;
  at.coordinates.assign(2, std::vector<double>(points));
  for (int i = 0; i < points; ++i) {
    at.coordinates[0][i] = Random(1, 1).uniform(i, -1, 1);
    at.coordinates[1][i] = Random(1, 2).uniform(i, 0, 1);
  }
  objective.set_points(0, at);
  const std::size_t n = objective.size();
  const double m = points, N = static_cast<double>(n);
  fmt::print("{} threads, {} points, {} parameters\n", threads, points, n);

  print("loss", bench::best_seconds(kRepeats, [&] { objective.value(x); }), 0);
  std::vector<double> trials(x), losses(2), residuals(3 * objective.residual_count());
  trials.insert(trials.end(), x.begin(), x.end());
  print("two losses in one batch", bench::best_seconds(kRepeats, [&] { objective.values(trials, losses); }),
        0);
  trials.insert(trials.end(), x.begin(), x.end());
  print("residuals",
        bench::best_seconds(kRepeats, [&] { objective.residuals(x, std::span(residuals).first(points)); }),
        0);
  print("three of them in one batch",
        bench::best_seconds(kRepeats, [&] { objective.residuals_at(trials, residuals); }), 0);
  constexpr std::size_t kMostParameters = 15000;
  if (n > kMostParameters) return 0;  // no room for matrices

  std::vector<double> JtJ(n * n), factor(n * n), Jtr(n), g(n), rows(480 * n);
  print("loss and gradient", bench::best_seconds(kRepeats, [&] { objective.value_and_gradient(x, g); }), 0);
  print("480 rows of J",
        bench::best_seconds(kRepeats, [&] { objective.jacobian_rows(x, 0, 480, rows.data()); }), 0);
  print("normal equations",
        bench::best_seconds(kRepeats, [&] { objective.normal_equations(x, JtJ.data(), Jtr); }), m * N * N);
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += JtJ[i * (n + 1)];
  const auto damp = [&] {
    factor = JtJ;
    for (std::size_t i = 0; i < n; ++i) factor[i * (n + 1)] += 1e-6 * trace / N;
  };
  print("copy of the matrix", bench::best_seconds(kRepeats, damp), 0);
  print("copy, Cholesky factorization",
        bench::best_seconds(kRepeats,
                            [&] {
                              damp();
                              linalg::cholesky({factor.data(), n, n}, objective.team());
                            }),
        N * N * N / 3);
  print("solution",
        bench::best_seconds(kRepeats,
                            [&] {
                              linalg::cholesky_solve({factor.data(), n, n}, g);
                            }),
        2 * N * N);
}
