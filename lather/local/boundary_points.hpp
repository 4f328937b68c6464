#pragma once
// Points in a box where a condition holds.

#include "lather/local/box.hpp"
#include "lather/pde/problem.hpp"

namespace lather::local {

// How many, by the degree of the polynomials that the conditions are to determine.
struct PointDensity {
  int dimensions = 1, degree = 1;
  bool held_out = false;  // others, at which nothing is solved
  // Along each free direction of a face with so many of them.
  int on_face(int free) const;
  int on_curve() const { return 2 * (degree + 1) - held_out; }
  int on_surface() const { return (degree + 2) * (degree + 2); }
};

// Points of a piece of the boundary that is part of a shape's, with the values of `columns`.
pde::Points points_on_shape(const pde::Problem& problem, const pde::Piece& piece, const Box& box,
                            const PointDensity& density, std::span<const std::string> columns);

// Points of a piece with coordinates held fixed; free ones range over `support`, a part of the box.
pde::Points points_on_face(const pde::Problem& problem, const pde::Piece& piece, const Box& box,
                           const Box& support, const PointDensity& density,
                           std::span<const std::string> columns);

// Whether points_on_shape is the one to ask.
bool is_on_shape(const pde::Piece& piece);

}  // namespace lather::local
