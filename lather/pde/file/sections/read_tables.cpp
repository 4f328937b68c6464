#include "lather/pde/file/sections/read_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lather/core/files.hpp"
#include "lather/core/formats/npz_file.hpp"
#include "lather/pde/coefficient_table.hpp"
#include "lather/pde/file/data_file.hpp"
#include "lather/pde/file/problem_tables.hpp"

namespace lather::pde {

namespace {

using Axis = CoefficientTable::Axis;

struct TableRequest {
  std::string name, column;
  SourceText file;
  std::vector<Axis> axes;  // without their values; empty: those in the file
  SourceLocation where;
};

// Values on a grid, the last axis fastest.
struct Grid {
  std::vector<Axis> axes;
  std::vector<double> values;
};

Axis axis_named(const SourceText& name, ProblemBuilder& builder) {
  const auto& names = builder.problem().symbols->coordinate_names();
  const auto found = std::find(names.begin(), names.end(), name.text);
  if (found == names.end()) throw Error(name.where, unknown_name_message("coordinate", name.text, names));
  return {static_cast<int>(found - names.begin()), name.text, {}};
}

// The coordinates of the problem that are among `names`.
std::vector<Axis> axes_among(const std::vector<std::string>& names, const TableRequest& request,
                             ProblemBuilder& builder) {
  if (!request.axes.empty()) return request.axes;
  std::vector<Axis> axes;
  const auto& coordinates = builder.problem().symbols->coordinate_names();
  for (std::size_t k = 0; k < coordinates.size(); ++k)
    if (std::find(names.begin(), names.end(), coordinates[k]) != names.end())
      axes.push_back({static_cast<int>(k), coordinates[k], {}});
  if (axes.empty())
    throw Error(request.file.where, fmt::format("the file has none of the coordinates {} (it has: {})",
                                                fmt::join(coordinates, ", "), fmt::join(names, ", ")));
  return axes;
}

std::size_t place_of(const std::vector<std::string>& names, const std::string& name,
                     const TableRequest& request) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Error(request.file.where, unknown_name_message("column of the table's file", name, names));
  return static_cast<std::size_t>(found - names.begin());
}

// "x, y" and "21 × 11"
std::string names_text(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return fmt::format("{}", fmt::join(names, ", "));
}
std::string sizes_text(const std::vector<Axis>& axes) {
  std::vector<std::size_t> sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.at.size());
  return fmt::format("{}", fmt::join(sizes, " × "));
}

// One row per node, in any order; every node of the grid once.
Grid grid_of_rows(const CsvTable& data, const TableRequest& request, ProblemBuilder& builder) {
  Grid grid{axes_among(data.names, request, builder), {}};
  std::vector<std::size_t> columns;
  double nodes = 1;
  for (Axis& axis : grid.axes) {
    columns.push_back(place_of(data.names, axis.name, request));
    for (const auto& row : data.rows) axis.at.push_back(row[columns.back()]);
    std::sort(axis.at.begin(), axis.at.end());
    axis.at.erase(std::unique(axis.at.begin(), axis.at.end()), axis.at.end());
    nodes *= static_cast<double>(axis.at.size());
  }
  if (nodes != static_cast<double>(data.rows.size()))
    throw Error(
        request.file.where,
        fmt::format("the rows of the table '{}' do not fill a grid: {} rows for {} different values of {}",
                    request.name, data.rows.size(), sizes_text(grid.axes), names_text(grid.axes)));
  const std::size_t value = place_of(data.names, request.column, request);
  grid.values.assign(data.rows.size(), std::numeric_limits<double>::quiet_NaN());
  for (const auto& row : data.rows) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < grid.axes.size(); ++k) {
      const auto& x = grid.axes[k].at;
      at = at * x.size() +
           static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), row[columns[k]]) - x.begin());
    }
    if (!std::isnan(grid.values[at]))
      throw Error(request.file.where,
                  fmt::format("the table '{}' has two rows for one node of its grid", request.name));
    grid.values[at] = row[value];
  }
  return grid;
}

// Arrays: one per coordinate, and the values with one dimension per coordinate.
Grid grid_of_arrays(std::vector<NpzArray> arrays, const TableRequest& request, ProblemBuilder& builder) {
  std::vector<std::string> names;
  for (const auto& array : arrays) names.push_back(array.name);
  Grid grid{axes_among(names, request, builder), {}};
  std::vector<std::size_t> shape;
  for (Axis& axis : grid.axes) {
    NpzArray& array = arrays[place_of(names, axis.name, request)];
    if (array.shape.size() != 1)
      throw Error(request.file.where, fmt::format("the array '{}' must have one dimension, it has {}",
                                                  axis.name, array.shape.size()));
    shape.push_back(array.values.size());
    axis.at = std::move(array.values);
  }
  NpzArray& values = arrays[place_of(names, request.column, request)];
  if (values.shape != shape)
    throw Error(request.file.where,
                fmt::format("the array '{}' has the shape ({}), the grid of {} has ({})", request.column,
                            fmt::join(values.shape, ", "), names_text(grid.axes), fmt::join(shape, ", ")));
  grid.values = std::move(values.values);
  return grid;
}

TableRequest table_request(const TomlEntry& entry, ProblemBuilder& builder) {
  TableRequest request{entry.key, entry.key, {}, {}, entry.where};
  if (entry.value.is_text()) {
    request.file = entry.value.text;
    return request;
  }
  const std::string what = fmt::format("[table.{}]", entry.key);
  const TomlValue& table = entry.value.as_table(what);
  only_problem_keys(table, what, {"file", "column", "coordinates"});
  request.file = table.required("file", what).as_text("file");
  if (const TomlValue* column = table.find("column")) request.column = column->as_text("column").text;
  if (const TomlValue* coordinates = table.find("coordinates"))
    for (const auto& name : coordinates->as_texts("coordinates"))
      request.axes.push_back(axis_named(name, builder));
  for (std::size_t k = 1; k < request.axes.size(); ++k)
    for (std::size_t j = 0; j < k; ++j)
      if (request.axes[j].coordinate == request.axes[k].coordinate)
        throw Error(table.where, fmt::format("'{}' is listed twice among the coordinates of {}",
                                             request.axes[k].name, what));
  return request;
}

Grid read_grid(const std::filesystem::path& path, const TableRequest& request, ProblemBuilder& builder) {
  const auto extension = path.extension();
  if (extension != ".csv" && extension != ".npz")
    throw Error(request.file.where,
                fmt::format("a table is a .csv or .npz file, not '{}'", request.file.text));
  if (extension == ".csv") return grid_of_rows(read_data_file(path), request, builder);
  std::error_code status;
  if (!std::filesystem::is_regular_file(path, status))
    throw Error(fmt::format("cannot open the table '{}'", path.string()));
  return grid_of_arrays(parse_npz(read_file(path), path.string()), request, builder);
}

}  // namespace

void read_tables(const TomlValue& root, const std::filesystem::path& folder,
                 const std::filesystem::path& kept_files, ProblemBuilder& builder) {
  for (const TomlEntry& entry : problem_section(root, "table").entries) {
    const TableRequest request = table_request(entry, builder);
    std::filesystem::path path = folder / request.file.text;
    if (!kept_files.empty())
      path = kept_files / CoefficientTable::kept_name(request.name, path.extension().string());
    try {
      Grid grid = read_grid(path, request, builder);
      builder.table(
          std::make_shared<CoefficientTable>(request.name, std::move(grid.axes), grid.values, path.string()),
          request.where);
    } catch (const Error& error) {
      if (!error.where().file.empty()) throw;
      throw Error(request.file.where, error.message());
    }
  }
}

}  // namespace lather::pde
