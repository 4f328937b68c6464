#include "lather/report/draw/contour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace lather::report {

namespace {

// The grid with a rim of points below every level, at the places of the outermost points, so that every
// boundary closes.
class Rimmed {
 public:
  Rimmed(std::size_t columns, std::span<const double> values)
      : columns_(static_cast<int>(columns)),
        rows_(static_cast<int>(values.size() / columns)),
        values_(values) {}

  int columns() const { return columns_ + 2; }
  int rows() const { return rows_ + 2; }

  double value(int i, int j) const {
    if (i == 0 || j == 0 || i > columns_ || j > rows_) return -std::numeric_limits<double>::infinity();
    const double v = values_[static_cast<std::size_t>(j - 1) * columns_ + (i - 1)];
    return std::isnan(v) ? -std::numeric_limits<double>::infinity() : v;
  }
  PlanePoint place(int i, int j) const {
    return {static_cast<double>(std::clamp(i - 1, 0, columns_ - 1)),
            static_cast<double>(std::clamp(j - 1, 0, rows_ - 1))};
  }

 private:
  int columns_, rows_;
  std::span<const double> values_;
};

struct Edge {
  int i, j;
  bool upright;  // from (i, j) to (i, j + 1); otherwise to (i + 1, j)
  auto operator<=>(const Edge&) const = default;
};

PlanePoint crossing(const Rimmed& grid, const Edge& e, double level) {
  const int i = e.i + (e.upright ? 0 : 1), j = e.j + (e.upright ? 1 : 0);
  const double a = grid.value(e.i, e.j), b = grid.value(i, j);
  const double t = std::isfinite(a) && std::isfinite(b) ? (level - a) / (b - a) : std::isfinite(a) ? 0 : 1;
  const PlanePoint p = grid.place(e.i, e.j), q = grid.place(i, j);
  return {p.column + t * (q.column - p.column), p.row + t * (q.row - p.row)};
}

}  // namespace

std::vector<std::vector<PlanePoint>> region_above(double level, std::size_t columns,
                                                  std::span<const double> values) {
  const Rimmed grid(columns, values);
  // Around every cell: from an edge where the walk leaves the region to the one where it comes back. A
  // neighbour walks along the shared edge in the opposite direction, so every crossed edge has one successor.
  std::map<Edge, Edge> next;
  for (int j = 0; j + 1 < grid.rows(); ++j)
    for (int i = 0; i + 1 < grid.columns(); ++i) {
      const std::array<bool, 4> in = {grid.value(i, j) >= level, grid.value(i + 1, j) >= level,
                                      grid.value(i + 1, j + 1) >= level, grid.value(i, j + 1) >= level};
      const std::array<Edge, 4> edges = {
          Edge{i, j, false}, {i + 1, j, true}, {i, j + 1, false}, {i, j, true}};
      for (int k = 0; k < 4; ++k) {
        if (!in[k] || in[(k + 1) % 4]) continue;
        int back = (k + 1) % 4;
        while (!in[(back + 1) % 4]) back = (back + 1) % 4;
        next.emplace(edges[k], edges[back]);
      }
    }
  std::vector<std::vector<PlanePoint>> loops;
  while (!next.empty()) {
    auto& loop = loops.emplace_back();
    for (auto at = next.begin(); at != next.end();) {
      loop.push_back(crossing(grid, at->first, level));
      const Edge to = at->second;
      next.erase(at);
      at = next.find(to);
    }
  }
  return loops;
}

}  // namespace lather::report
