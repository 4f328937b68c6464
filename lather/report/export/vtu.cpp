#include "lather/report/export/vtu.hpp"

#include <fmt/format.h>

#include <cstring>

#include "lather/core/error.hpp"
#include "lather/core/text.hpp"
#include "lather/report/export/vtk.hpp"

namespace lather::report {

namespace {

template <class T>
std::string data_array(std::string_view type, std::string_view name, int components,
                       const std::vector<T>& values) {
  const std::uint64_t size = values.size() * sizeof(T);
  std::string data(sizeof size + size, '\0');
  std::memcpy(data.data(), &size, sizeof size);
  if (size > 0) std::memcpy(data.data() + sizeof size, values.data(), size);
  return fmt::format(
      "<DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" format=\"binary\">\n{}\n</DataArray>\n",
      type, markup(name), components, base64(data));
}

}  // namespace

std::string encode_vtu(const UnstructuredGrid& grid, std::span<const NamedArray> arrays) {
  constexpr std::uint8_t kTypes[] = {3, 9, 12};  // line, quadrilateral, hexahedron
  const std::size_t per_cell = std::size_t{1} << grid.dimension, cells = grid.corners.size() / per_cell;
  std::vector<double> places;
  for (const auto& p : grid.points) places.insert(places.end(), p.begin(), p.end());
  std::vector<std::int64_t> offsets;
  for (std::size_t c = 1; c <= cells; ++c) offsets.push_back(static_cast<std::int64_t>(c * per_cell));
  std::string out = fmt::format(
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n"
      "<UnstructuredGrid>\n<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n<PointData>\n",
      grid.points.size(), cells);
  for (const auto& array : arrays) out += data_array("Float64", array.name, 1, array.values);
  out += "</PointData>\n<Points>\n" + data_array("Float64", "Points", 3, places) + "</Points>\n<Cells>\n" +
         data_array("Int64", "connectivity", 1, grid.corners) + data_array("Int64", "offsets", 1, offsets) +
         data_array("UInt8", "types", 1, std::vector<std::uint8_t>(cells, kTypes[grid.dimension - 1]));
  return out + "</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n";
}

UnstructuredGrid cells_inside(const std::vector<std::vector<double>>& axes, const std::vector<char>& marked,
                              std::vector<std::size_t>& used) {
  const auto d = axes.size();
  if (d < 1 || d > 3) throw Error(fmt::format("VTK has three coordinates, the problem {}; export npz", d));
  std::vector<std::size_t> strides(d, 1);
  for (std::size_t k = d; k-- > 1;) strides[k - 1] = strides[k] * axes[k].size();
  // Corners of a cell in VTK's order: around the bottom, then around the top.
  std::vector<std::size_t> corner_offsets{0, strides[0]};
  if (d > 1) corner_offsets.insert(corner_offsets.end(), {strides[0] + strides[1], strides[1]});
  if (d > 2)
    for (std::size_t c = 0; c < 4; ++c) corner_offsets.push_back(corner_offsets[c] + strides[2]);
  UnstructuredGrid grid;
  grid.dimension = static_cast<int>(d);
  std::vector<std::int64_t> number(marked.size(), -1);
  for (std::size_t i = 0; i < marked.size(); ++i) {
    bool inner = true;  // not at the last point of an axis
    for (std::size_t k = 0; k < d; ++k) inner = inner && i / strides[k] % axes[k].size() + 1 < axes[k].size();
    if (!inner) continue;
    bool all = true;
    for (const std::size_t offset : corner_offsets) all = all && marked[i + offset];
    if (!all) continue;
    for (const std::size_t offset : corner_offsets) {
      auto& n = number[i + offset];
      if (n < 0) {
        n = static_cast<std::int64_t>(grid.points.size());
        used.push_back(i + offset);
        std::array<double, 3> p{};
        for (std::size_t k = 0; k < d; ++k) p[k] = axes[k][(i + offset) / strides[k] % axes[k].size()];
        grid.points.push_back(p);
      }
      grid.corners.push_back(n);
    }
  }
  return grid;
}

}  // namespace lather::report
