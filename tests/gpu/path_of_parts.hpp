#pragma once
// A step of lm along a path on the device, in one go, against its parts with the host in between.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "gpu/engine_pair.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/formulas/geodesic.hpp"
#include "lather/optim/least_squares/solvers/normal_matrix.hpp"

namespace lather::pde {

// Returns whether the path was bent.
inline bool expect_the_path_of_its_parts(PinnObjective& objective, std::span<const double> x,
                                         const optim::PathRequest& request) {
  const std::size_t n = x.size(), m = objective.residual_count();
  const double h = request.h;
  const auto matrix = objective.source().make_normal_matrix(n);
  std::vector<double> Jtr(n), D(n), d(n), a(n), points, r(3 * m), bend(m), values(2);
  const double value = matrix->build_normal(x, Jtr);
  const std::vector<double> diagonal = matrix->diagonal();
  double mean = 0;
  for (const double element : diagonal) mean += element / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    D[i] = request.marquardt ? std::max(diagonal[i], 1e-12 * mean) : mean;
    d[i] = -Jtr[i];
  }
  EXPECT_TRUE(matrix->factor_and_solve(request.lambda, D, d));
  for (const double s : {h, -h, 0.0})
    for (std::size_t i = 0; i < n; ++i) points.push_back(x[i] + s * d[i]);
  objective.residuals_at(points, r);
  for (std::size_t k = 0; k < m; ++k) bend[k] = -(r[k] + r[m + k] - 2 * r[2 * m + k]) / (h * h);
  matrix->solve_transposed(x, bend, a);
  const bool bent = optim::norm(a) < 2 * optim::norm(d);
  if (!bent) std::fill(a.begin(), a.end(), 0.0);
  points.clear();
  for (const double s : {1.0, 0.5})
    for (std::size_t i = 0; i < n; ++i) points.push_back(x[i] + s * d[i] + s * s / 2 * a[i]);
  objective.values(points, values);

  // Twice: the first time graphs are built, the second time they are launched.
  const auto other = objective.source().make_normal_matrix(n);
  for (int i = 0; i < 2; ++i) {
    SCOPED_TRACE(testing::Message() << "call " << i);
    std::vector<double> elsewhere(n, 0.1), got_Jtr(n);
    other->build_normal(elsewhere, got_Jtr);  // J is not kept
    optim::Path path;
    double got_value = 0;
    EXPECT_TRUE(other->build_along_path(x, request, got_Jtr, got_value, path));
    EXPECT_EQ(path.lambda, request.lambda);
    EXPECT_TRUE(path.positive_definite);
    EXPECT_NEAR(got_value / value, 1, 1e-12);
    expect_close(got_Jtr, Jtr, 1e-12, "J^T r");
    expect_close(other->diagonal(), diagonal, 1e-12, "diagonal");
    expect_close(path.d, d, 1e-9, "d");
    expect_close(path.a, a, 1e-7, "a");
    expect_close(path.values, values, 1e-8, "values");
  }
  return bent;
}

}  // namespace lather::pde
