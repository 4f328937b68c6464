#pragma once
// A plane through fields on a grid (fields.json), for pictures: in the coordinates, or where a map takes them.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lather/report/draw/svg.hpp"

namespace lather::report {

// Of two coordinates, all; of more, the first two, with the others fixed at the middle.
struct FieldPlane {
  Axis x, y;
  std::size_t columns = 0;
  std::vector<std::size_t> cells;  // indices into an array, row by row
  bool proportional = false;       // both axes are lengths of one kind: a shape, or physical coordinates
  std::vector<Svg::Share> places;  // of the cells in physical space; empty: no map
  std::vector<std::vector<Svg::Share>> outline;  // of a shape or of a mapped domain

  // The values of the cells; a cell without a place has no value.
  std::vector<double> values_on(const nlohmann::json& array) const;
};

// `fields` as checked by checked_fields(), with at least two axes.
FieldPlane field_plane(const nlohmann::json& fields);

}  // namespace lather::report
