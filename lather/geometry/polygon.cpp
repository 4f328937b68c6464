#include "lather/geometry/polygon.hpp"

#include <fmt/format.h>

#include <numeric>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"
#include "lather/geometry/r_functions.hpp"

namespace lather::geometry {

using symbolic::Expr;

namespace {

// Twice the area of a triangle, positive if counterclockwise.
double turn(const Point& a, const Point& b, const Point& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

double signed_area(const std::vector<Point>& corners) {
  double sum = 0;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Point &a = corners[i], &b = corners[(i + 1) % corners.size()];
    sum += a[0] * b[1] - a[1] * b[0];
  }
  return 0.5 * sum;
}

bool on_segment(const Point& p, const Point& a, const Point& b) {
  return turn(a, b, p) == 0 && dot(p - a, p - b) <= 0;
}

bool segments_meet(const Point& a, const Point& b, const Point& c, const Point& d) {
  if (on_segment(a, c, d) || on_segment(b, c, d) || on_segment(c, a, b) || on_segment(d, a, b)) return true;
  return turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0;
}

double segment_distance(const Point& p, const Point& a, const Point& b) {
  const Point along = b - a, from = p - a;
  const double t = std::clamp(dot(from, along) / dot(along, along), 0.0, 1.0);
  return length(from - t * along);
}

// Which members of `chain` are on its convex hull, including points inside its sides.
std::vector<char> on_hull(const std::vector<Point>& corners, const std::vector<std::size_t>& chain) {
  std::vector<std::size_t> order(chain.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return corners[chain[i]] < corners[chain[j]]; });
  std::vector<char> marked(chain.size(), 0);
  for (int half = 0; half < 2; ++half) {
    std::vector<std::size_t> stack;
    for (const std::size_t i : order) {
      while (stack.size() >= 2 && turn(corners[chain[stack[stack.size() - 2]]], corners[chain[stack.back()]],
                                       corners[chain[i]]) < 0)
        stack.pop_back();
      stack.push_back(i);
    }
    for (const std::size_t i : stack) marked[i] = 1;
    std::reverse(order.begin(), order.end());
  }
  return marked;
}

}  // namespace

Polygon::Polygon(std::vector<Point> corners) : Shape(2), corners_(std::move(corners)) {
  const std::size_t n = corners_.size();
  if (n < 3) throw Error(fmt::format("a polygon needs at least three corners, got {}", n));
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(corners_[i][0]) || !std::isfinite(corners_[i][1]))
      throw Error(fmt::format("corner {} of the polygon is not finite", i + 1));
    if (length(edge(i)) == 0)
      throw Error(fmt::format("corners {} and {} of the polygon are the same point", i + 1, (i + 1) % n + 1));
  }
  for (std::size_t i = 0; i < n; ++i) {
    poll_stop();
    for (std::size_t j = i + 1; j < n; ++j) {
      const Point &a = corners_[i], &b = corners_[(i + 1) % n], &c = corners_[j], &d = corners_[(j + 1) % n];
      const bool neighbours = j == i + 1 || (i == 0 && j == n - 1);
      // Neighbours share a corner; they must not fold back onto each other.
      const bool folds = neighbours && (j == i + 1 ? on_segment(d, a, b) : on_segment(c, a, b));
      if (folds || (!neighbours && segments_meet(a, b, c, d)))
        throw Error(
            fmt::format("edges {} and {} of the polygon cross or touch: it must be simple", i + 1, j + 1));
    }
  }
  if (signed_area(corners_) < 0) std::reverse(corners_.begin(), corners_.end());
}

double Polygon::signed_distance(const Point& p) const {
  double nearest = Box::kInfinity;
  bool inside = false;
  for (std::size_t i = 0; i < corners_.size(); ++i) {
    const Point &a = corners_[i], &b = corners_[(i + 1) % corners_.size()];
    nearest = std::min(nearest, segment_distance(p, a, b));
    // A ray to the right crosses the edge.
    if ((a[1] > p[1]) != (b[1] > p[1]) && (turn(a, b, p) > 0) == (b[1] > a[1])) inside = !inside;
  }
  return inside ? nearest : -nearest;
}

Box Polygon::bounds() const {
  Box box;
  for (const Point& c : corners_) box.include(c);
  return box;
}

std::vector<Patch> Polygon::patches(const Box&) const {
  std::vector<Patch> list;
  double arc = 0;
  for (std::size_t i = 0; i < corners_.size(); ++i) {
    const auto at = [a = corners_[i], e = edge(i), n = outward(i), arc](double u, double) {
      return SurfacePoint{a + u * e, n, arc + u * length(e)};
    };
    list.push_back({length(edge(i)), at, {}});
    arc += length(edge(i));
  }
  return list;
}

std::optional<double> Polygon::exact_measure() const { return signed_area(corners_); }

std::optional<double> Polygon::exact_boundary_measure() const {
  double sum = 0;
  for (std::size_t i = 0; i < corners_.size(); ++i) sum += length(edge(i));
  return sum;
}

// A chain of neighbouring corners: one edge is a half plane, a longer chain is split where it touches its
// convex hull, and its parts, which bend the other way, are joined by the other operation.
Expr Polygon::joined(const std::vector<std::size_t>& chain, bool conjunction, const Coordinates& x) const {
  if (chain.size() == 2) {
    const Point n = outward(chain[0]), a = corners_[chain[0]];
    return -n[0] * (x[0] - a[0]) - n[1] * (x[1] - a[1]);
  }
  const auto hull = on_hull(corners_, chain);
  Expr all;
  for (std::size_t begin = 0; begin + 1 < chain.size();) {
    std::size_t end = begin + 1;
    while (end + 1 < chain.size() && !hull[end]) ++end;
    const std::vector<std::size_t> part(chain.begin() + static_cast<std::ptrdiff_t>(begin),
                                        chain.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    const Expr piece = joined(part, !conjunction, x);
    all = !all ? piece : conjunction ? r_and(all, piece) : r_or(all, piece);
    begin = end;
  }
  return all;
}

Expr Polygon::smooth_distance(const Coordinates& x) const {
  const std::size_t n = corners_.size();
  std::size_t first = 0;  // the lowest corner is on the hull
  for (std::size_t i = 1; i < n; ++i)
    if (corners_[i] < corners_[first]) first = i;
  std::vector<std::size_t> chain;  // without corners within a straight side, which would count twice
  for (std::size_t i = 0; i < n; ++i)
    if (const std::size_t k = (first + i) % n;
        turn(corners_[(k + n - 1) % n], corners_[k], corners_[(k + 1) % n]) != 0)
      chain.push_back(k);
  chain.push_back(first);
  return joined(chain, true, x);
}

ShapePtr polygon(std::vector<Point> corners) { return std::make_shared<Polygon>(std::move(corners)); }

}  // namespace lather::geometry
