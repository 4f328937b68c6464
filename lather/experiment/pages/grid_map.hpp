#pragma once
// Heat maps of a search: a panel per problem, a row per method, a column per value of the first axis; each field holds
// its number. One colour scale per panel, from the best value up to a thousand times it. As many panels in a row as the
// width of a page has room for.

#include <string>
#include <vector>

namespace lather::experiment {

struct GridMapField {
  std::size_t row = 0, column = 0;
  double value = 0;  // infinity: not a number at the end
  bool chosen = false;
};

struct GridMapPanel {
  std::string title;
  std::vector<GridMapField> fields;
};

struct GridMap {
  std::string title, column_name;
  std::vector<std::string> rows, columns;
  std::vector<GridMapPanel> panels;
};

std::string svg_grid_map(const GridMap& map);

}  // namespace lather::experiment
