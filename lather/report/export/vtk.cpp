#include "lather/report/export/vtk.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "lather/core/text.hpp"

namespace lather::report {

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    const std::size_t used = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 4; ++k) out += k <= used ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string encode_vti(const ImageGrid& grid, std::span<const NamedArray> arrays) {
  const auto [nx, ny, nz] = grid.points;
  const std::string extent = fmt::format("0 {} 0 {} 0 {}", nx - 1, ny - 1, nz - 1);
  std::string out = fmt::format(
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
      "<ImageData WholeExtent=\"{0}\" Origin=\"{1} {2} {3}\" Spacing=\"{4} {5} {6}\">\n<Piece "
      "Extent=\"{0}\">\n<PointData>\n",
      extent, grid.origin[0], grid.origin[1], grid.origin[2], grid.spacing[0], grid.spacing[1],
      grid.spacing[2]);
  for (const auto& array : arrays) {
    const std::uint64_t size = array.values.size() * sizeof(double);
    std::string data(sizeof size + size, '\0');
    std::memcpy(data.data(), &size, sizeof size);
    char* next = data.data() + sizeof size;
    for (std::size_t k = 0; k < nz; ++k)
      for (std::size_t j = 0; j < ny; ++j)
        for (std::size_t i = 0; i < nx; ++i, next += sizeof(double))
          std::memcpy(next, &array.values[(i * ny + j) * nz + k], sizeof(double));
    out += fmt::format("<DataArray type=\"Float64\" Name=\"{}\" format=\"binary\">\n{}\n</DataArray>\n",
                       markup(array.name), base64(data));
  }
  return out + "</PointData>\n</Piece>\n</ImageData>\n</VTKFile>\n";
}

}  // namespace lather::report
