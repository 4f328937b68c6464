#pragma once
// Matrix products of the optimizers, each counted, so that tests can assert how much cubic work a step does.

#include <cstdint>

#include "lather/linalg/matrix.hpp"

namespace lather::linalg {

// Work done by this thread since it started. Copy it before and after and subtract.
struct WorkCount {
  std::int64_t products = 0;         // calls of the product functions below
  std::int64_t multiplications = 0;  // scalar multiplications in them
  std::int64_t factorizations = 0;   // eigendecompositions, QR, SVD, Cholesky, …
};
WorkCount& work_count();

// `out` must not overlap the factors.
void multiply(MatrixView out, ConstMatrixView a, ConstMatrixView b);                   // out = A B
void multiply_left_transposed(MatrixView out, ConstMatrixView a, ConstMatrixView b);   // out = A^T B
void multiply_right_transposed(MatrixView out, ConstMatrixView a, ConstMatrixView b);  // out = A B^T

// Symmetric accumulation; the result is exactly symmetric.
void accumulate_rows(MatrixView s, double keep, double weight,
                     ConstMatrixView g);  // S = keep S + weight G G^T
void accumulate_cols(MatrixView s, double keep, double weight,
                     ConstMatrixView g);  // S = keep S + weight G^T G

}  // namespace lather::linalg
