#pragma once
// Rows of the least-squares problem: every residual at every point of a patch, and every jump at every point
// of a face, divided by its own size.
//
// The size of a row is what its terms would be for a field of size S that varies as fast as the patch can
// follow:  z = sum_a S |c_a| prod_k (kappa / h_k)^a_k  with kappa = p / 2 and h_k half the width of the
// patch. So the units of coordinates, fields and equations cost nothing.

#include <vector>

#include "lather/local/basis.hpp"
#include "lather/local/dense.hpp"
#include "lather/local/patch.hpp"

namespace lather::local {

// How the equations are weighed and changed on the way to a solution.
struct RowSettings {
  double equation_weight = 1;  // conditions have weight 1, jumps kJumpWeight
  double highest_factor = 1;   // of the derivatives of highest order: continuation in convection
  std::vector<double> sizes;   // of the outputs
  State iterate;               // empty: zero
};
inline constexpr double kJumpWeight = 100;

struct Rows {
  Dense matrix;
  std::vector<double> right;
  void append(const Rows& below) {
    matrix.append(below.matrix);
    right.insert(right.end(), below.right.begin(), below.right.end());
  }
};

// sum over both sides of matrix * coefficients = right
struct FaceRows {
  Dense first, second;
  std::vector<double> right;
};

class RowBuilder {
 public:
  RowBuilder(const Equations& equations, RowSettings settings)
      : equations_(equations), settings_(std::move(settings)) {}

  // Columns: the functions of the patch, output after output.
  Rows of_patch(const Patch& patch, const Basis& basis) const;
  FaceRows of_face(const Face& face, const Patch& first, const Patch& second, const Basis& basis) const;

  // Root mean squares of what is left at the state, over the size of its row (at the iterate, if there is one:
  // a wild state must not be measured by itself) and without weights: the largest
  // of all residuals of a patch at its held-out points; of all jumps of a face.
  double left_over(const Patch& patch, const State& state) const;
  double left_over(const Face& face, const Patch& first, const Patch& second, const State& at_first,
                   const State& at_second) const;

 private:
  struct Side;
  std::vector<double> sizes_of(const Linearization& terms, const Linearization::Values& values, int residual,
                               const Patch& patch, std::size_t count, bool with_factor) const;
  Side side_of(const Face& face, const Patch& patch, bool is_first, const State& state) const;
  double factor_of(const Linearization& terms, std::size_t factor, bool interior) const;

  const Equations& equations_;
  RowSettings settings_;
};

}  // namespace lather::local
