#include "lather/core/formats/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"

namespace lather {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF", kBlanks = " \t\r";

struct CsvCell {
  std::string_view text;  // without blanks and quotes around it
  int column;             // in the line, from 1
};

std::vector<CsvCell> csv_cells(std::string_view line) {
  std::vector<CsvCell> cells;
  for (std::size_t start = 0;;) {
    const std::size_t comma = std::min(line.find(',', start), line.size());
    const auto outside = [&](std::size_t i) {
      return kBlanks.find(line[i]) != kBlanks.npos || line[i] == '"';
    };
    std::size_t first = start, last = comma;
    while (first < last && outside(first)) ++first;
    while (last > first && outside(last - 1)) --last;
    cells.push_back({line.substr(first, last - first), static_cast<int>(first) + 1});
    if (comma == line.size()) return cells;
    start = comma + 1;
  }
}

std::optional<double> csv_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end) return {};
  return value;
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= 32 && c < 127 ? c : '?';
  return out;
}

bool all_numbers(const std::vector<CsvCell>& cells) {
  return std::all_of(cells.begin(), cells.end(),
                     [](const CsvCell& c) { return csv_number(c.text).has_value(); });
}

std::vector<std::string> header_names(const std::vector<CsvCell>& cells, const SourceLocation& where) {
  if (cells.size() == 1 && cells[0].text.find_first_of(" \t;") != std::string_view::npos)
    throw Error(where, fmt::format("expected commas between the columns, found '{}'", shown(cells[0].text)));
  std::vector<std::string> names;
  for (const auto& cell : cells) names.emplace_back(cell.text);
  return names;
}

// For a file that begins with numbers: names from the comment above them, if it names as many columns.
std::vector<std::string> names_in_comment(std::string_view comment, std::size_t columns,
                                          const SourceLocation& where) {
  comment.remove_prefix(std::min(comment.find_first_not_of('#'), comment.size()));
  const auto cells = csv_cells(comment);
  if (cells.size() != columns || cells[0].text.empty())
    throw Error(where, "expected a header that names the columns, such as x,t,u; found numbers");
  return header_names(cells, where);
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& file, CsvNumbers numbers) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvTable table;
  std::string_view comment;  // the last one
  for (int number = 1; !text.empty(); ++number) {
    poll_stop();
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(kBlanks) == line.npos) continue;
    if (line[0] == '#') {
      comment = line;
      continue;
    }
    const auto cells = csv_cells(line);
    if (table.names.empty()) {
      const SourceLocation where{file, number, 1};
      if (!all_numbers(cells)) {
        table.names = header_names(cells, where);
        continue;
      }
      table.names = names_in_comment(comment, cells.size(), where);
    }
    if (cells.size() != table.names.size())
      throw Error({file, number, 1},
                  fmt::format("expected {} numbers, one per column of the header, found {}",
                              table.names.size(), cells.size()));
    auto& row = table.rows.emplace_back();
    for (const auto& cell : cells) {
      const auto value = csv_number(cell.text);
      if (!value || (numbers == CsvNumbers::finite && !std::isfinite(*value)))
        throw Error({file, number, cell.column},
                    fmt::format("expected a {}number, found '{}'",
                                numbers == CsvNumbers::finite ? "finite " : "", shown(cell.text)));
      row.push_back(*value);
    }
  }
  if (table.names.empty())
    throw Error({file, 0, 0}, "the file is empty: expected a header that names the columns, such as x,t,u");
  return table;
}

}  // namespace lather
