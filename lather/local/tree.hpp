#pragma once
// The domain cut into boxes: a grid where coefficients break along coordinates, and from there a tree whose
// boxes are halved along some of their coordinates.

#include <cstdint>
#include <vector>

#include "lather/core/state.hpp"
#include "lather/local/domain.hpp"

namespace lather::local {

class Tree {
 public:
  Tree(const Domain& domain, const std::vector<std::vector<double>>& breaks);

  struct Node {
    Box box;
    int parent = -1, level = 0;
    unsigned halved = 0;    // bit k: along coordinate k; 0: a leaf
    int first_child = -1;   // children differ by the bits of `halved`, the lowest fastest
    bool is_empty = false;  // outside the domain
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  // Boxes that hold a part of the domain; they are numbered by their nodes.
  std::vector<int> leaves() const;
  void split(int leaf, unsigned along, const Domain& domain);
  // The leaf that contains the place; of those outside the domain, the nearest one.
  int locate(const Place& place) const;
  // Reading throws Error unless what was written is a tree.
  void state(StateVisitor& v);
  Tree() = default;  // to be read
  int dimensions() const { return static_cast<int>(cuts_.size()); }

 private:
  void add(const Box& box, int parent, const Domain& domain);
  int descend(int node, const Place& place) const;

  std::vector<std::vector<double>> cuts_;  // of the grid, ends included
  std::vector<Node> nodes_;                // those of the grid first, the last coordinate fastest
};

}  // namespace lather::local
