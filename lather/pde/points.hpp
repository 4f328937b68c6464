#pragma once
// Points at which a set of residuals is evaluated, coordinate by coordinate.

#include <cstddef>
#include <vector>

namespace lather::pde {

struct Points {
  std::vector<std::vector<double>> coordinates;  // [coordinate][point]
  std::vector<std::vector<double>> columns;      // [data column][point]
  std::size_t count() const { return coordinates.empty() ? 0 : coordinates[0].size(); }
};

}  // namespace lather::pde
