#include "lather/pde/file/data_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>

#include "lather/core/error.hpp"

namespace lather::pde {

namespace {

struct Cell {
  std::string_view text;
  int column;  // in the line, from 1
};

std::vector<Cell> cells_of(std::string_view line) {
  std::vector<Cell> cells;
  for (std::size_t start = 0;;) {
    const std::size_t comma = std::min(line.find(',', start), line.size());
    std::size_t first = start, last = comma;
    while (first < last && (line[first] == ' ' || line[first] == '\t')) ++first;
    while (last > first && (line[last - 1] == ' ' || line[last - 1] == '\t')) --last;
    cells.push_back({line.substr(first, last - first), static_cast<int>(first) + 1});
    if (comma == line.size()) return cells;
    start = comma + 1;
  }
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= 32 && c < 127 ? c : '?';
  return out;
}

}  // namespace

DataFile read_data_file(const std::filesystem::path& path) {
  std::error_code status;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || !std::filesystem::is_regular_file(path, status))  // a device may never end
    throw Error(fmt::format("cannot open the data file '{}'", path.string()));
  DataFile data;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos || line[0] == '#') continue;
    const auto cells = cells_of(line);
    const SourceLocation where{path.string(), number, 1};
    if (data.columns.empty()) {
      for (const auto& cell : cells) data.columns.emplace_back(cell.text);
      continue;
    }
    if (cells.size() != data.columns.size())
      throw Error(where, fmt::format("expected {} numbers, one per column of the header, found {}",
                                     data.columns.size(), cells.size()));
    std::vector<double> row;
    for (const auto& cell : cells) {
      double value = 0;
      const char* end = cell.text.data() + cell.text.size();
      const auto [stop, status] = std::from_chars(cell.text.data(), end, value);
      if (status != std::errc() || stop != end || !std::isfinite(value))
        throw Error({path.string(), number, cell.column},
                    fmt::format("expected a finite number, found '{}'", shown(cell.text)));
      row.push_back(value);
    }
    data.rows.push_back(std::move(row));
  }
  if (data.columns.empty())
    throw Error({path.string(), 0, 0}, "the data file is empty: expected a header that names the columns");
  if (data.rows.empty()) throw Error({path.string(), 0, 0}, "the data file has a header but no rows");
  return data;
}

}  // namespace lather::pde
