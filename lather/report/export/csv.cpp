#include "lather/report/export/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <string_view>

#include "lather/core/error.hpp"

namespace lather::report {

namespace {

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> list;
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find(',', start), line.size());
    std::string_view cell = line.substr(start, end - start);
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '"')) cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '"' || cell.back() == '\r'))
      cell.remove_suffix(1);
    list.push_back(cell);
    start = end + 1;
  }
  return list;
}

}  // namespace

NumberTable parse_csv(const std::string& text, const std::string& file) {
  NumberTable table;
  int number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line(text.data() + start, end - start);
    start = end + 1;
    ++number;
    if (line.find_first_not_of(" \r\t") == std::string_view::npos || line.front() == '#') continue;
    const auto list = cells(line);
    if (table.names.empty()) {
      table.names.assign(list.begin(), list.end());
      table.columns.resize(list.size());
      continue;
    }
    if (list.size() != table.names.size())
      throw Error({file, number, 0},
                  fmt::format("expected {} numbers, found {}", table.names.size(), list.size()));
    for (std::size_t k = 0; k < list.size(); ++k) {
      double value = 0;
      const auto [last, status] = std::from_chars(list[k].data(), list[k].data() + list[k].size(), value);
      if (status != std::errc() || last != list[k].data() + list[k].size())
        throw Error({file, number, 0},
                    fmt::format("'{}' in column '{}' is not a number", list[k], table.names[k]));
      table.columns[k].push_back(value);
    }
  }
  if (table.names.empty())
    throw Error({file, 0, 0}, "the file is empty; expected a line of names such as x,t and lines of numbers");
  return table;
}

std::string encode_csv(const NumberTable& table) {
  std::string out = fmt::format("{}\n", fmt::join(table.names, ","));
  for (std::size_t i = 0; i < table.rows(); ++i) {
    for (std::size_t k = 0; k < table.columns.size(); ++k)
      fmt::format_to(std::back_inserter(out), "{}{}", k ? "," : "", table.columns[k][i]);
    out += '\n';
  }
  return out;
}

}  // namespace lather::report
