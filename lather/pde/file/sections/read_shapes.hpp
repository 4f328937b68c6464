#pragma once
// [shape] of a problem file: shapes as text, by name.
//
//   [shape]
//   plate = "rectangle([0, 0], [2, 1])"
//   hole = "disk([0.5, 0.5], 0.2)"
//   domain = "plate - hole"

#include <filesystem>
#include <memory>
#include <utility>

#include "lather/core/formats/toml.hpp"
#include "lather/pde/geometry.hpp"
#include "lather/pde/problem_builder.hpp"

namespace lather::pde {

// The shapes of a file, and which of its coordinates they use; none if it has no [shape]. Parameters must
// have been read. Mesh files are looked for in `kept_files` or, if that is empty, in `folder`. Their paths
// are added to the problem's files.
std::shared_ptr<Geometry> read_shapes(const TomlValue& root, const std::vector<SourceText>& coordinates,
                                      const std::filesystem::path& folder,
                                      const std::filesystem::path& kept_files, ProblemBuilder& builder);

// The spatial coordinates: all but one called t, time or tau.
std::vector<int> space_coordinates(const std::vector<std::string>& names);

// The box of a problem without shapes, in its spatial coordinates. Throws Error at `where` if there are none
// or more than 3.
std::shared_ptr<const Geometry> box_geometry(const Problem& problem, const SourceLocation& where);

// A smooth function of the coordinates that vanishes on the boundary of the named shape and is positive on
// the side where most of the domain is: distance(NAME).
symbolic::Expr smooth_distance_to(const Problem& problem, const Geometry& geometry, std::string_view name,
                                  const SourceLocation& where);

}  // namespace lather::pde
