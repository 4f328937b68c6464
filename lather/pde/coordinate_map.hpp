#pragma once
// Derivatives in physical coordinates y given as functions of the coordinates z:  d/dy_i = sum_j (dz_j/dy_i)
// d/dz_j.

#include <string>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/pde/output_symbols.hpp"

namespace lather::pde {

struct CoordinateMap {
  std::vector<int> coordinates;                      // the z_j the map is made of
  std::vector<std::vector<symbolic::Expr>> inverse;  // inverse[i][j] = dz_j / dy_i
};

// Inverts the Jacobian dy_i/dz_j symbolically, by cofactors. Throws Error (at `where`) if there are more than
// three physical coordinates, if the map does not use as many coordinates as it defines, or if it is singular
// everywhere.
CoordinateMap invert_coordinate_map(const std::vector<symbolic::Expr>& map,
                                    const std::vector<std::string>& names, OutputSymbols& symbols,
                                    const SourceLocation& where);

}  // namespace lather::pde
