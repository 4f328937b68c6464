#include "lather/report/export/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lather/core/formats/csv.hpp"

namespace lather::report {

NumberTable parse_csv(const std::string& text, const std::string& file) {
  const CsvTable csv = lather::parse_csv(text, file, CsvNumbers::any);
  NumberTable table{csv.names, std::vector<std::vector<double>>(csv.names.size())};
  for (const auto& row : csv.rows)
    for (std::size_t k = 0; k < row.size(); ++k) table.columns[k].push_back(row[k]);
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
