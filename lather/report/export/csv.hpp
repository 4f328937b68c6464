#pragma once
// Tables of numbers as CSV: a line of names, then lines of numbers.

#include <string>
#include <vector>

namespace lather::report {

struct NumberTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;
  std::size_t rows() const { return columns.empty() ? 0 : columns[0].size(); }
};

// `file` appears in errors. Throws Error with the line if something is not a number or has too few columns.
NumberTable parse_csv(const std::string& text, const std::string& file);
std::string encode_csv(const NumberTable& table);  // reading it gives the same bits back

}  // namespace lather::report
