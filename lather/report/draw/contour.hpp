#pragma once
// Where values on a grid reach a level, as closed polygons: what a filled contour map is drawn from.

#include <cstddef>
#include <span>
#include <vector>

namespace lather::report {

struct PlanePoint {
  double column, row;  // in units of the grid
};

// Boundaries of the region where the values, linear along the edges of the grid, are at least `level`; the
// even-odd rule fills it. `values` has rows of `columns` numbers; one that is not a number counts as below.
std::vector<std::vector<PlanePoint>> region_above(double level, std::size_t columns,
                                                  std::span<const double> values);

}  // namespace lather::report
