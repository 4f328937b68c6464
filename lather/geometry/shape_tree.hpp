#pragma once
// Many shapes in a tree of boxes, so that a point is compared with the few that are near it.

#include <cstdint>
#include <vector>

#include "lather/geometry/shape.hpp"

namespace lather::geometry {

class ShapeTree {
 public:
  ShapeTree() = default;
  explicit ShapeTree(std::vector<ShapePtr> shapes);
  // The largest of all signed distances, bit for bit as if every shape were asked; -infinity if there is none.
  double largest(const Point& p) const;
  // The shapes whose signed distance may be `least` or more; the others are certainly below it.
  template <class Visit>  // bool(std::size_t shape), false: no more
  void for_each_above(const Point& p, double least, const Visit& visit) const {
    for (const std::uint32_t shape : everywhere_)
      if (!visit(shape)) return;
    if (!nodes_.empty()) visit_above(0, p, least, visit);
  }

 private:
  // Inner nodes have two children, leaves one shape: it may itself be a tree.
  struct Node {
    Box box;
    std::uint32_t left = 0, right = 0, shape = 0;
    bool leaf() const { return right == 0; }
  };
  std::uint32_t build(std::uint32_t first, std::uint32_t count);
  double bound(std::uint32_t node, const Point& p) const;
  void raise(std::uint32_t node, const Point& p, double& best) const;
  template <class Visit>
  bool visit_above(std::uint32_t at, const Point& p, double least, const Visit& visit) const {
    if (bound(at, p) < least) return true;
    const Node& node = nodes_[at];
    if (node.leaf()) return visit(node.shape);
    return visit_above(node.left, p, least, visit) && visit_above(node.right, p, least, visit);
  }

  std::vector<ShapePtr> shapes_;
  std::vector<Box> boxes_;                         // that bound the distances, widened by rounding
  std::vector<std::uint32_t> order_, everywhere_;  // in the tree; without a finite box
  std::vector<Node> nodes_;
  int dimension_ = 0;
};

}  // namespace lather::geometry
