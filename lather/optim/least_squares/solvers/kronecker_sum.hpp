#pragma once
// Solves A1 X B1 + A2 X B2 = G, that is (A1 (x) B1 + A2 (x) B2) vec X = vec G for row-major matrices (x:
// Kronecker product), by simultaneous diagonalization (Martens & Grosse 2015, appendix B).
//
//   K_A   K_A^T A1 K_A = I, K_A^T A2 K_A = diag(s_A);  K_B likewise
//   X     K_A [ (K_A^T G K_B) / (1 + s_A s_B^T) ] K_B^T

#include "lather/core/aligned.hpp"
#include "lather/linalg/matrix.hpp"

namespace lather::optim {

class KroneckerSum {
 public:
  // All factors symmetric, those of the first pair positive definite. Without a second pair A2 and B2 are
  // empty views. False if a factor is not finite.
  bool decompose(linalg::ConstMatrixView A1, linalg::ConstMatrixView B1, linalg::ConstMatrixView A2 = {},
                 linalg::ConstMatrixView B2 = {});
  void solve(linalg::ConstMatrixView G, linalg::MatrixView X) const;

 private:
  AlignedVector K_A_, K_B_, s_A_, s_B_;
};

}  // namespace lather::optim
