#include "lather/geometry/outline.hpp"

namespace lather::geometry {

std::vector<std::vector<Point>> outline(const Shape& shape, std::size_t steps) {
  std::vector<std::vector<Point>> lines;
  if (shape.dimension() != 2) return lines;
  const Boundary boundary(shape);
  for (std::size_t patch = 0; patch < boundary.patches(); ++patch) {
    const double share = boundary.patch_measure(patch) / boundary.total();
    const auto parts =
        std::max<std::size_t>(16, static_cast<std::size_t>(share * static_cast<double>(steps)));
    bool open = false;
    for (std::size_t i = 0; i <= parts; ++i) {
      const auto p = boundary.on_patch(patch, static_cast<double>(i) / static_cast<double>(parts), 0);
      if (!p) {
        open = false;
        continue;
      }
      if (!open) lines.emplace_back();
      open = true;
      lines.back().push_back(p->position);
    }
  }
  std::erase_if(lines, [](const auto& line) { return line.size() < 2; });
  return lines;
}

}  // namespace lather::geometry
