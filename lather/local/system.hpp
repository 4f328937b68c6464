#pragma once
// The least-squares problem of one round: rows of patches, and rows that couple two of them.

#include <functional>
#include <memory>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/core/threads.hpp"
#include "lather/linalg/orthonormal_columns.hpp"
#include "lather/local/rows.hpp"

namespace lather::local {

struct Coupling {
  std::size_t first = 0, second = 0;  // indices of patches; the same one where the domain is periodic
  FaceRows rows;
};

struct System {
  std::vector<Rows> own;  // by patch
  std::vector<Coupling> couplings;
};

// Coefficients by patch.
using Coefficients = std::vector<std::vector<double>>;

// The plain meaning: all rows in one dense matrix, its columns scaled to length one, and the shortest of all
// solutions. The specification of solve_sparse.
Coefficients solve_dense(const System& system);

// Directions of a patch's columns that its rows see less than this share of the best one are left out.
inline constexpr double kDrop = 1e-9;

// Rows of one patch replaced by as many as it has columns, with the same sums of products: a triangle.
Rows compressed(Rows rows, linalg::TallQr& qr);

struct SolveReport {
  std::size_t unknowns = 0;
  int iterations = 0;       // of conjugate gradients
  double shift = 0;         // of the diagonal, to make the factorization succeed
  double factor_bytes = 0;  // of the factor
};

// The work was ended from outside, for the reason in the message.
class Stopped : public Error {
 public:
  using Error::Error;
};

struct SolveLimits {
  double bytes = 0;            // most for the factor; 0: no limit
  std::function<void()> poll;  // called often, on any thread; throws Stopped to end the work
};

// Orthonormal columns patch by patch, block Cholesky factorization of their normal equations over the graph
// of patches, and conjugate gradients on the rows themselves with that factor as preconditioner: as accurate
// as an orthogonal factorization. Throws OutOfMemory if the factor would need more than the limit.
Coefficients solve_sparse(const System& system, ThreadTeam& team, const SolveLimits& limits,
                          SolveReport& report);

}  // namespace lather::local
