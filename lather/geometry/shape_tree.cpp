#include "lather/geometry/shape_tree.hpp"

namespace lather::geometry {

namespace {

// Distances and boxes are rounded; a bound is loosened by this, relative to coordinates and to itself.
constexpr double kRounding = 1e-9;

Box widened(Box box, int dimension) {
  double largest = 0;
  for (int k = 0; k < dimension; ++k)
    largest = std::max({largest, std::abs(box.low[k]), std::abs(box.high[k])});
  for (int k = 0; k < dimension; ++k) {
    box.low[k] -= kRounding * largest;
    box.high[k] += kRounding * largest;
  }
  return box;
}

}  // namespace

ShapeTree::ShapeTree(std::vector<ShapePtr> shapes) : shapes_(std::move(shapes)) {
  for (std::uint32_t i = 0; i < shapes_.size(); ++i) {
    dimension_ = shapes_[i]->dimension();
    const Box box = shapes_[i]->distance_bounds();
    const bool finite = box.finite(dimension_);
    (finite ? order_ : everywhere_).push_back(i);
    boxes_.push_back(finite ? widened(box, dimension_) : box);
  }
  if (!order_.empty()) build(0, static_cast<std::uint32_t>(order_.size()));
}

// Splits at the median of the centres along the longest side of their box.
std::uint32_t ShapeTree::build(std::uint32_t first, std::uint32_t count) {
  const auto at = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  Node node;
  Box centers;
  for (std::uint32_t i = first; i < first + count; ++i) {
    node.box = node.box.join(boxes_[order_[i]]);
    centers.include(boxes_[order_[i]].center());
  }
  if (count == 1) {
    node.shape = order_[first];
  } else {
    const Point size = centers.high - centers.low;
    const auto axis = std::max_element(size.begin(), size.begin() + dimension_) - size.begin();
    const auto begin = order_.begin() + first;
    std::nth_element(begin, begin + count / 2, begin + count, [&](std::uint32_t i, std::uint32_t j) {
      return boxes_[i].center()[axis] < boxes_[j].center()[axis];
    });
    node.left = build(first, count / 2);
    node.right = build(first + count / 2, count - count / 2);
  }
  nodes_[at] = node;
  return at;
}

// No signed distance below the node exceeds that of its box.
double ShapeTree::bound(std::uint32_t node, const Point& p) const {
  const Box& box = nodes_[node].box;
  double outside = 0, inside = -Box::kInfinity;
  for (int k = 0; k < dimension_; ++k) {
    const double q = std::max(box.low[k] - p[k], p[k] - box.high[k]);
    outside += std::max(q, 0.0) * std::max(q, 0.0);
    inside = std::max(inside, q);
  }
  const double distance = -(std::sqrt(outside) + std::min(inside, 0.0));
  return distance + kRounding * std::abs(distance);
}

void ShapeTree::raise(std::uint32_t at, const Point& p, double& best) const {
  const Node& node = nodes_[at];
  if (node.leaf()) {
    best = std::max(best, shapes_[node.shape]->signed_distance(p));
    return;
  }
  std::uint32_t near = node.left, far = node.right;
  double near_bound = bound(near, p), far_bound = bound(far, p);
  if (far_bound > near_bound) {
    std::swap(near, far);
    std::swap(near_bound, far_bound);
  }
  if (!(near_bound < best)) raise(near, p, best);
  if (!(far_bound < best)) raise(far, p, best);
}

double ShapeTree::largest(const Point& p) const {
  double best = -Box::kInfinity;
  for (const std::uint32_t shape : everywhere_) best = std::max(best, shapes_[shape]->signed_distance(p));
  if (!nodes_.empty()) raise(0, p, best);
  return best;
}

}  // namespace lather::geometry
