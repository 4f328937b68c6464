#pragma once
// Cholesky factorization, singular values and least squares of dense matrices. Eigen's versions of these are
// compiled here and nowhere else: each takes many seconds.

#include "lather/linalg/matrix.hpp"

namespace lather {
class ThreadTeam;
}

namespace lather::linalg {

// A = C C^T in place; only the lower triangle is read and written. False if A is not positive definite in
// this precision. With a team, large matrices are factored in blocks on its threads; the bits do not depend
// on the thread count.
bool cholesky(MatrixView a, ThreadTeam* team = nullptr);
// b = (C C^T)^{-1} b
void cholesky_solve(ConstMatrixView factor, std::span<double> b);
// B = C^{-1} B
void solve_lower(ConstMatrixView factor, MatrixView b);

// A = U diag(values) V^T with min(rows, cols) singular values, descending. U and V have that many columns.
// False if A is not finite.
bool thin_svd(ConstMatrixView a, MatrixView u, std::span<double> values, MatrixView v);
// The same values only, via the triangular factor, which is no larger than the short side.
bool singular_values(ConstMatrixView a, std::span<double> values);

// The minimum-norm X among those that minimize |A X - B|. Pivots below `threshold` times the largest count
// as zero.
void solve_least_squares(ConstMatrixView a, ConstMatrixView b, MatrixView x, double threshold);

}  // namespace lather::linalg
