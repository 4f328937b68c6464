#pragma once
// Fields on part of a grid as an unstructured VTK grid (.vtu), which ParaView opens.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lather/report/export/npz.hpp"

namespace lather::report {

struct UnstructuredGrid {
  int dimension = 2;  // of the cells: lines, quadrilaterals or hexahedra
  std::vector<std::array<double, 3>> points;
  std::vector<std::int64_t> corners;  // 2, 4 or 8 per cell
};

// Each array holds one value per point.
std::string encode_vtu(const UnstructuredGrid& grid, std::span<const NamedArray> arrays);

// The cells of a grid of axes (first coordinate slowest) whose corners are all marked; `used` gets the
// indices of the points that are left, in order.
UnstructuredGrid cells_inside(const std::vector<std::vector<double>>& axes, const std::vector<char>& marked,
                              std::vector<std::size_t>& used);

}  // namespace lather::report
