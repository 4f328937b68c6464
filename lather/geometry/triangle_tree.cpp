#include <numbers>
#include <numeric>

#include "lather/core/interrupt.hpp"
#include "lather/geometry/mesh.hpp"

namespace lather::geometry {

namespace {

constexpr std::uint32_t kLeafTriangles = 8;
// A cluster is treated as a dipole when seen from farther than this many of its radii. The paper uses 2; an
// error of about 1e-3 is far from the threshold of 0.5.
constexpr double kFar = 2.3;

struct Corners {
  const Point &a, &b, &c;
};
Corners corners_of(const Mesh& mesh, std::uint32_t triangle) {
  const auto& t = mesh.triangles[triangle];
  return {mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]]};
}

}  // namespace

double solid_angle_share(const Point& p, const Point& a, const Point& b, const Point& c) {
  const Point x = a - p, y = b - p, z = c - p;
  const double la = length(x), lb = length(y), lc = length(z);
  const double above = dot(x, cross(y, z));
  const double below = la * lb * lc + dot(x, y) * lc + dot(y, z) * la + dot(z, x) * lb;
  return 2 * std::atan2(above, below) / (4 * std::numbers::pi);
}

// By the regions of the triangle's plane: corners, edges, inside (C. Ericson, Real-Time Collision Detection,
// 5.1.5).
Point closest_on_triangle(const Point& p, const Point& a, const Point& b, const Point& c) {
  const Point ab = b - a, ac = c - a, ap = p - a, bp = p - b, cp = p - c;
  const double d1 = dot(ab, ap), d2 = dot(ac, ap);
  if (d1 <= 0 && d2 <= 0) return a;
  const double d3 = dot(ab, bp), d4 = dot(ac, bp);
  if (d3 >= 0 && d4 <= d3) return b;
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return a + (d1 / (d1 - d3)) * ab;
  const double d5 = dot(ab, cp), d6 = dot(ac, cp);
  if (d6 >= 0 && d5 <= d6) return c;
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return a + (d2 / (d2 - d6)) * ac;
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return b + ((d4 - d3) / ((d4 - d3) + (d5 - d6))) * (c - b);
  const double sum = va + vb + vc;
  return a + (vb / sum) * ab + (vc / sum) * ac;
}

TriangleTree::TriangleTree(const Mesh& mesh) : mesh_(mesh), order_(mesh.triangles.size()) {
  std::iota(order_.begin(), order_.end(), 0u);
  clusters_.reserve(2 * order_.size() / kLeafTriangles + 4);
  build(0, static_cast<std::uint32_t>(order_.size()));
}

// Splits at the median of the centres along the longest side of their box.
std::uint32_t TriangleTree::build(std::uint32_t first, std::uint32_t count) {
  poll_stop();
  const auto node = static_cast<std::uint32_t>(clusters_.size());
  clusters_.emplace_back();
  Cluster cluster;
  Box centers;
  double total = 0;
  const auto center = [&](std::uint32_t t) {
    const auto [a, b, c] = corners_of(mesh_, t);
    return (1.0 / 3) * (a + b + c);
  };
  for (std::uint32_t i = first; i < first + count; ++i) {
    const auto [a, b, c] = corners_of(mesh_, order_[i]);
    for (const Point* corner : {&a, &b, &c}) cluster.box.include(*corner);
    centers.include(center(order_[i]));
    const Point area = 0.5 * cross(b - a, c - a);
    cluster.dipole = cluster.dipole + area;
    cluster.center = cluster.center + length(area) * center(order_[i]);
    total += length(area);
  }
  cluster.center = total > 0 ? (1 / total) * cluster.center : cluster.box.center();
  for (std::uint32_t i = first; i < first + count; ++i) {
    const auto [a, b, c] = corners_of(mesh_, order_[i]);
    for (const Point* corner : {&a, &b, &c})
      cluster.radius = std::max(cluster.radius, length(*corner - cluster.center));
  }
  if (count <= kLeafTriangles) {
    cluster.first = first;
    cluster.count = count;
  } else {
    const Point size = centers.high - centers.low;
    const int axis = static_cast<int>(std::max_element(size.begin(), size.end()) - size.begin());
    const auto begin = order_.begin() + first;
    std::nth_element(begin, begin + count / 2, begin + count,
                     [&](std::uint32_t i, std::uint32_t j) { return center(i)[axis] < center(j)[axis]; });
    cluster.left = build(first, count / 2);
    cluster.right = build(first + count / 2, count - count / 2);
  }
  clusters_[node] = cluster;
  return node;
}

double TriangleTree::box_distance(std::uint32_t node, const Point& p) const {
  const Box& box = clusters_[node].box;
  double sum = 0;
  for (int k = 0; k < 3; ++k) {
    const double d = std::max({box.low[k] - p[k], p[k] - box.high[k], 0.0});
    sum += d * d;
  }
  return std::sqrt(sum);
}

void TriangleTree::search(std::uint32_t node, const Point& p, Closest& best) const {
  const Cluster& cluster = clusters_[node];
  for (std::uint32_t i = cluster.first; i < cluster.first + cluster.count; ++i) {
    const auto [a, b, c] = corners_of(mesh_, order_[i]);
    const Point q = closest_on_triangle(p, a, b, c);
    if (const double d = length(q - p); d < best.distance) best = {q, order_[i], d};
  }
  if (cluster.count > 0) return;
  std::array<std::uint32_t, 2> children{cluster.left, cluster.right};
  if (box_distance(children[1], p) < box_distance(children[0], p)) std::swap(children[0], children[1]);
  for (const std::uint32_t child : children)
    if (box_distance(child, p) < best.distance) search(child, p, best);
}

TriangleTree::Closest TriangleTree::closest(const Point& p) const {
  Closest best;
  best.distance = Box::kInfinity;
  search(0, p, best);
  return best;
}

double TriangleTree::winding(std::uint32_t node, const Point& p) const {
  const Cluster& cluster = clusters_[node];
  const Point to = cluster.center - p;
  if (const double d = length(to); d > kFar * cluster.radius)
    return dot(cluster.dipole, to) / (4 * std::numbers::pi * d * d * d);
  if (cluster.count == 0) return winding(cluster.left, p) + winding(cluster.right, p);
  double sum = 0;
  for (std::uint32_t i = cluster.first; i < cluster.first + cluster.count; ++i) {
    const auto [a, b, c] = corners_of(mesh_, order_[i]);
    sum += solid_angle_share(p, a, b, c);
  }
  return sum;
}

double TriangleTree::winding_number(const Point& p) const { return winding(0, p); }

}  // namespace lather::geometry
