#pragma once
// What has been found: the outputs of the problem as polynomials on the leaves of a tree.

#include <memory>
#include <vector>

#include "lather/local/basis.hpp"
#include "lather/local/linearization.hpp"
#include "lather/local/tree.hpp"

namespace lather::local {

class Solution {
 public:
  struct Piece {
    Box support;
    std::vector<double> coefficients;  // output after output, in the order of Basis
  };
  Solution(Tree tree, int degree, int outputs, std::vector<std::pair<int, Piece>>&& pieces);

  // Reading throws Error unless what was written is a solution.
  static Solution read(StateReader& reader);
  void write(StateWriter& writer) const;

  const Tree& tree() const { return tree_; }
  int outputs() const { return outputs_; }
  std::size_t coefficients() const;  // all of them
  const Basis& basis() const { return basis_; }
  int degree() const { return basis_.degree(); }
  const Piece& piece(int node) const { return pieces_[static_cast<std::size_t>(node)]; }

  // A share of the way to another solution on the same boxes.
  Solution towards(const Solution& other, double share) const;

  std::vector<double> evaluate(const Jet& jet, const pde::Points& points) const;
  // The polynomial of one leaf, also outside it.
  std::vector<double> evaluate_on(int node, const Jet& jet, const pde::Points& points) const;

 private:
  Tree tree_;
  Basis basis_;
  int outputs_;
  std::vector<Piece> pieces_;  // by node; empty: not a leaf
};

}  // namespace lather::local
