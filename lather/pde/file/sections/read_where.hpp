#pragma once
// `where` of a condition or an equation:
//
//   t = 0        x = 0, y = 1        x = 0 and y > 0.5        boundary        boundary of hole and not x = 0
//   sdf = 0      inside inner        boundary of hole or boundary of inner
//
// An equality fixes a coordinate; `boundary` (or sdf = 0) is the boundary of the domain, `boundary of NAME`
// the part of a shape's boundary that lies in the closed domain; inequalities, `inside NAME` and `not` choose
// among these points.

#include "lather/pde/problem_builder.hpp"

namespace lather::pde {

// The pieces of a union. A list of equalities on a box gives a plain piece, everything else one with a
// region. Throws Error with the place if something cannot be understood, and if a region is empty.
std::vector<Piece> read_where(const SourceText& text, ProblemBuilder& builder);

// The same piece with a region, so that its points have normals and distances.
Piece with_region(Piece piece, const SourceText& text, ProblemBuilder& builder);

}  // namespace lather::pde
