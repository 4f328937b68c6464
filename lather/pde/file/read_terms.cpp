#include "lather/pde/file/read_terms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "lather/pde/file/data_file.hpp"
#include "lather/pde/file/problem_tables.hpp"

namespace lather::pde {

using symbolic::Expr;

namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// Part of a text, with its place in the file.
SourceText part(const SourceText& whole, std::size_t begin, std::size_t end) {
  while (begin < end && std::string_view(" \t\r\n").find(whole.text[begin]) != std::string_view::npos)
    ++begin;
  SourceText piece{trimmed(std::string_view(whole.text).substr(begin, end - begin)), whole.place(begin), {}};
  if (!whole.places.empty()) {
    const auto first = whole.places.begin() + static_cast<std::ptrdiff_t>(begin);
    piece.places.assign(first, first + static_cast<std::ptrdiff_t>(piece.text.size()) + 1);
  }
  return piece;
}

// Splits at separators that stand outside parentheses.
std::vector<SourceText> split(const SourceText& whole, char separator) {
  std::vector<SourceText> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= whole.text.size(); ++i) {
    const char c = i < whole.text.size() ? whole.text[i] : separator;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (i == whole.text.size() || (c == separator && depth <= 0)) {
      parts.push_back(part(whole, begin, i));
      begin = i + 1;
    }
  }
  return parts;
}

class TermReader {
 public:
  TermReader(const TomlValue& root, std::filesystem::path folder, std::filesystem::path kept_data,
             ProblemBuilder& builder)
      : root_(root), folder_(std::move(folder)), kept_data_(std::move(kept_data)), builder_(builder) {}

  void read_equations() {
    for (const auto& table : problem_tables(root_, "equation")) {
      only_problem_keys(table, "[[equation]]", {"name", "residual", "weight"});
      const SourceText name = term_name(table, "[[equation]]");
      builder_.equation(name.text, residuals(table, "[[equation]]"), weight(table),
                        table.required("residual", "[[equation]]").where);
    }
  }

  void read_conditions() {
    for (const auto& table : problem_tables(root_, "condition")) {
      only_problem_keys(table, "[[condition]]", {"name", "where", "residual", "weight"});
      const SourceText name = term_name(table, "[[condition]]");
      std::vector<Piece> pieces;
      for (const auto& face : table.required("where", "[[condition]]").as_texts("where"))
        pieces.push_back(read_face(face));
      builder_.condition(name.text, pieces, residuals(table, "[[condition]]"), weight(table),
                         table.required("residual", "[[condition]]").where);
    }
  }

  void read_data() {
    for (const auto& table : problem_tables(root_, "data")) {
      only_problem_keys(table, "[[data]]", {"name", "file", "residual", "weight"});
      const SourceText name = term_name(table, "[[data]]");
      const TomlValue& file = table.required("file", "[[data]]");
      const std::filesystem::path written = folder_ / file.as_text("file").text;
      const std::filesystem::path path = kept_data_.empty() ? written : kept_data_ / (name.text + ".csv");
      const CsvTable data = [&] {
        try {
          return read_data_file(path);
        } catch (const Error& error) {
          if (!error.where().file.empty()) throw;
          throw Error(file.where, error.message());
        }
      }();
      add_data(table, name, path, data, file.where);
    }
  }

 private:
  std::vector<Expr> residuals(const TomlValue& table, const std::string& what) {
    std::vector<Expr> list;
    for (const auto& text : table.required("residual", what).as_texts("residual"))
      list.push_back(builder_.parse(text));
    note_kinks(builder_, table.required("residual", what).where);
    return list;
  }

  double weight(const TomlValue& table) {
    const TomlValue* value = table.find("weight");
    if (!value) return 1;
    const double w = read_number(*value, "weight", builder_);
    if (!(w >= 0)) throw Error(value->where, "a weight must not be negative");
    return w;
  }

  SourceText term_name(const TomlValue& table, const std::string& what) {
    const TomlValue& value = table.required("name", what);
    SourceText name = value.as_text("name");
    const auto allowed = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == ' ';
    };
    if (trimmed(name.text).empty() || !std::all_of(name.text.begin(), name.text.end(), allowed))
      throw Error(value.where,
                  fmt::format("the name of {} is made of letters, digits, '-', '_' and spaces", what));
    if (!names_.insert(name.text).second)
      throw Error(name.where,
                  fmt::format("the name '{}' is used twice among equations, conditions and data", name.text));
    return name;
  }

  // "t = 0" or "x = 0, y = 1".
  Piece read_face(const SourceText& text) {
    std::vector<std::pair<std::string, double>> fixed;
    for (const auto& equality : split(text, ',')) {
      const auto sides = split(equality, '=');
      if (sides.size() != 2 || sides[0].text.empty() || sides[1].text.empty())
        throw Error(equality.place(0),
                    fmt::format("expected an equality such as t = 0, found '{}'", equality.text));
      fixed.emplace_back(sides[0].text,
                         builder_.parse_number(sides[1], fmt::format("the value of {}", sides[0].text)));
      builder_.face({fixed.back()}, sides[0].place(0));  // to blame the right coordinate
    }
    return builder_.face(fixed, text.place(0));
  }

  // Columns by name: the coordinates first, as the engine wants them, then the values.
  void add_data(const TomlValue& table, const SourceText& name, const std::filesystem::path& path,
                const CsvTable& data, const SourceLocation& where) {
    const auto& coordinates = builder_.problem().symbols->coordinate_names();
    std::vector<std::size_t> order;
    for (const auto& c : coordinates) {
      const auto it = std::find(data.names.begin(), data.names.end(), c);
      if (it == data.names.end())
        throw Error(where,
                    fmt::format("the data file has no column for the coordinate '{}' (its columns: {})", c,
                                fmt::join(data.names, ", ")));
      order.push_back(static_cast<std::size_t>(it - data.names.begin()));
    }
    std::vector<std::string> values;
    for (std::size_t k = 0; k < data.names.size(); ++k)
      if (std::find(order.begin(), order.end(), k) == order.end()) {
        order.push_back(k);
        values.push_back(data.names[k]);
      }
    std::vector<std::vector<double>> rows;
    for (const auto& row : data.rows) {
      rows.emplace_back();
      for (const std::size_t k : order) rows.back().push_back(row[k]);
      for (std::size_t i = 0; i < coordinates.size(); ++i) {
        const auto [low, high] = builder_.problem().domain[i];
        if (rows.back()[i] < low || rows.back()[i] > high)
          throw Error(where,
                      fmt::format("row {} of {} has {} = {}, outside the domain [{}, {}]", rows.size(),
                                  path.filename().string(), coordinates[i], rows.back()[i], low, high));
      }
    }
    builder_.begin_data(values, where);
    const auto list = residuals(table, "[[data]]");
    builder_.data(name.text, values, std::move(rows), list, weight(table),
                  table.required("residual", "[[data]]").where);
    builder_.problem().point_sets.back().file = path.string();
  }

  const TomlValue& root_;
  std::filesystem::path folder_, kept_data_;
  ProblemBuilder& builder_;
  std::set<std::string> names_;
};

}  // namespace

void read_terms(const TomlValue& root, const std::filesystem::path& folder,
                const std::filesystem::path& kept_data, ProblemBuilder& builder) {
  TermReader reader(root, folder, kept_data, builder);
  reader.read_equations();
  reader.read_conditions();
  reader.read_data();
}

}  // namespace lather::pde
