#pragma once
// A box with polynomials of its own, and the points at which they are asked to satisfy the problem.

#include <vector>

#include "lather/local/equations.hpp"
#include "lather/local/tree.hpp"

namespace lather::local {

struct Patch {
  int node = 0;  // of the tree
  int degree = 1;
  Box box;
  Box support;  // around what of the box lies in the domain; here the polynomials run over [-1, 1]
  bool is_cut = false;
  // By group of the equations: where they are solved, and others, where the result is judged.
  std::vector<pde::Points> points, held_out;
};

Patch make_patch(const Equations& equations, const Tree& tree, int node, int degree);

// A part of the face between two patches.
struct Face {
  std::size_t first = 0, second = 0;  // indices of patches; first lies below second along `direction`
  int direction = 0;
  // As places of either patch: they differ where the domain is periodic.
  pde::Points of_first, of_second;
};
std::vector<Face> find_faces(const Domain& domain, const std::vector<const Patch*>& patches, bool held_out);

}  // namespace lather::local
