#pragma once
// Fields on a uniform grid as VTK image data (.vti), which ParaView opens.

#include <array>
#include <span>
#include <string>

#include "lather/report/export/npz.hpp"

namespace lather::report {

struct ImageGrid {
  std::array<std::size_t, 3> points{1, 1, 1};
  std::array<double, 3> origin{0, 0, 0}, spacing{1, 1, 1};
};

// Each array holds one value per grid point, first coordinate slowest (as NamedArray), and is reordered for
// VTK, whose first coordinate is fastest.
std::string encode_vti(const ImageGrid& grid, std::span<const NamedArray> arrays);

std::string base64(std::string_view bytes);

}  // namespace lather::report
