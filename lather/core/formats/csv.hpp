#pragma once
// Numbers from a CSV file: a header that names the columns, then rows of numbers, separated by commas. Files
// from spreadsheets and NumPy are read as they are: a byte-order mark and quotation marks are skipped, and
// the header may be in a comment ("# x,t,u") right above the first row. Other comments and blank lines are
// skipped.

#include <string>
#include <string_view>
#include <vector>

namespace lather {

struct CsvTable {
  std::vector<std::string> names;         // of the columns
  std::vector<std::vector<double>> rows;  // one number per column
};

enum class CsvNumbers { any, finite };  // any: inf and nan too

// Throws Error with line and column.
CsvTable parse_csv(std::string_view text, const std::string& file, CsvNumbers numbers);

}  // namespace lather
