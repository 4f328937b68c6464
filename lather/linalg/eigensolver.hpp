#pragma once
// Eigenvectors with a rule that makes them unique, and orthonormal factors.

#include "lather/linalg/matrix.hpp"

namespace lather::linalg {

// A = X diag(values) X^T for symmetric A (the lower triangle is read); values are in descending order. False
// if A is not finite or the iteration did not converge; then `vectors` and `values` must not be used.
// Columns are not yet canonical.
bool eigenvectors(ConstMatrixView a, std::span<double> values, MatrixView vectors);
// The values only, at a fraction of the work.
bool eigenvalues(ConstMatrixView a, std::span<double> values);

// Makes the columns of X unique. Eigenvalues that agree to rounding (formulas/canonical.hpp) form a cluster;
// inside a cluster any orthonormal basis would do, so the columns are replaced by a basis that depends on the
// spanned subspace only: with P = X_c X_c^T, the first column is P e_j normalized, j the first index with
// P_jj within a hair of the largest, and so on in the complement. For a simple eigenvalue this means: the
// largest component is positive. `values` must be sorted.
void make_canonical(std::span<const double> values, MatrixView vectors);

// One Newton–Schulz step X <- X (3 I - X^T X) / 2: takes ||X^T X - I|| = e to about e^2. `scratch` holds 2
// d^2 doubles.
void reorthonormalize(MatrixView x, std::span<double> scratch);

// Q of a Householder QR factorization of a square matrix.
void orthonormal_factor(ConstMatrixView a, MatrixView q);

}  // namespace lather::linalg
