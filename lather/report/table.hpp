#pragma once
// Tables of results as Markdown, CSV and LaTeX.

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lather::report {

// Mean and sample standard deviation (divided by n - 1; 0 for one value) of the values that are finite.
struct Spread {
  double mean = 0, deviation = 0;
  int count = 0;
};
Spread spread_of(std::span<const double> values);

// A cell is a text, or a mean with its deviation; empty if nothing is known.
struct Cell {
  std::string text;
  std::optional<Spread> spread;
};

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<Cell>> rows;
};

std::string to_text(const Cell& cell);
std::string markdown_cell(std::string text);  // on one line, and no bar in it ends the cell
std::string to_markdown(const Table& table);  // columns aligned, so that it is readable as plain text
std::string to_csv(const Table& table);       // a spread takes two columns: NAME and NAME.deviation
std::string to_latex(const Table& table);     // a tabular with booktabs

}  // namespace lather::report
