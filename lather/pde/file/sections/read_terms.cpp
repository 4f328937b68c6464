#include "lather/pde/file/sections/read_terms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "lather/pde/file/data_file.hpp"
#include "lather/pde/file/problem_tables.hpp"
#include "lather/pde/file/sections/read_links.hpp"
#include "lather/pde/file/sections/read_shapes.hpp"
#include "lather/pde/file/sections/read_where.hpp"
#include "lather/pde/file/source_parts.hpp"
#include "lather/pde/sampling/region.hpp"

namespace lather::pde {

using symbolic::Expr;

namespace {

class TermReader {
 public:
  TermReader(const TomlValue& root, std::filesystem::path folder, std::filesystem::path kept_data,
             ProblemBuilder& builder)
      : root_(root), folder_(std::move(folder)), kept_data_(std::move(kept_data)), builder_(builder) {}

  void read_equations() {
    for (const auto& table : problem_tables(root_, "equation")) {
      only_problem_keys(table, "[[equation]]", {"name", "where", "residual", "weight"});
      const SourceText name = term_name(table, "[[equation]]");
      const SourceLocation& at = table.required("residual", "[[equation]]").where;
      auto [list, factor, uses_geometry] = weighted_residuals(table, "[[equation]]");
      if (const TomlValue* where = table.find("where")) {
        const SourceText& text = where->as_text("where");
        const auto pieces = read_where(text, builder_);
        if (pieces.size() != 1 || !pieces[0].region ||
            pieces[0].region->carrier() != Region::Carrier::inside || !is_open(pieces[0]))
          throw Error(where->where,
                      "an equation holds in part of the interior, such as \"inside inner\" or \"x > 0.5\"; "
                      "what holds on a face or a boundary is a [[condition]]");
        builder_.equation_in(name.text, pieces[0], list, factor, at);
      } else if (uses_geometry && !builder_.problem().geometry) {
        Piece whole(builder_.problem().domain.size(), std::numeric_limits<double>::quiet_NaN());
        builder_.equation_in(name.text, with_region(whole, {"the domain", at, {}}, builder_), list, factor,
                             at);
      } else {
        builder_.equation(name.text, list, factor, at);
      }
    }
  }

  void read_conditions() {
    for (const auto& table : problem_tables(root_, "condition")) {
      const SourceText name = term_name(table, "[[condition]]");
      if (table.find("linked")) {
        read_linked(table, name.text, builder_);
        continue;
      }
      only_problem_keys(table, "[[condition]]", {"name", "where", "residual", "weight", "linked"});
      const auto [list, factor, uses_geometry] = weighted_residuals(table, "[[condition]]");
      std::vector<Piece> pieces;
      for (const auto& text : table.required("where", "[[condition]]").as_texts("where"))
        for (Piece& piece : read_where(text, builder_))
          pieces.push_back(uses_geometry && !piece.region ? with_region(std::move(piece), text, builder_)
                                                          : std::move(piece));
      builder_.condition(name.text, pieces, list, factor, table.required("residual", "[[condition]]").where);
    }
  }

  void read_integrals() {
    for (const auto& table : problem_tables(root_, "integral"))
      read_integral(table, term_name(table, "[[integral]]").text, builder_);
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

  static bool is_open(const Piece& piece) {
    return std::all_of(piece.begin(), piece.end(), [](double v) { return std::isnan(v); });
  }

  struct WeightedResiduals {
    std::vector<Expr> residuals;
    double weight = 1;
    bool uses_geometry = false;  // normals, distances
  };
  // A weight that depends on position becomes part of the residuals, as its root: w r^2 = (sqrt(w) r)^2.
  WeightedResiduals weighted_residuals(const TomlValue& table, const std::string& what) {
    WeightedResiduals result;
    const auto columns = declare_geometry_columns();
    try {
      result.residuals = residuals(table, what);
      if (const TomlValue* value = table.find("weight"); value && value->is_text()) {
        const Expr w = builder_.parse(value->text);
        if (w.is_constant())
          result.weight = not_negative(w.node().constant, value->where);
        else
          weigh(result.residuals, w, value->where);
      } else {
        result.weight = weight(table);
      }
    } catch (...) {
      for (const auto& name : columns) builder_.names().remove(name);
      throw;
    }
    for (const auto& name : columns) builder_.names().remove(name);
    for (Expr s : symbolic::symbols_of(result.residuals))
      for (const auto& name : columns) result.uses_geometry |= s.node().name == "data:" + name;
    return result;
  }

  void weigh(std::vector<Expr>& residuals, Expr w, const SourceLocation& where) {
    for (Expr s : symbolic::symbols_of(std::span(&w, 1)))
      if (builder_.problem().symbols->find(s) || builder_.names().is_unknown(s.node().name))
        throw Error(
            where,
            "a weight may depend on coordinates, parameters, sdf and normals, not on what is solved for");
    for (Expr& r : residuals) r = sqrt(w) * r;
  }

  // The names of normals and distances, except those the file uses for something else.
  std::vector<std::string> declare_geometry_columns() {
    const auto& names = builder_.problem().symbols->coordinate_names();
    std::vector<std::string> declared;
    std::vector<std::string> known{"sdf", "arc"};
    if (builder_.problem().geometry)
      known = region_columns(*builder_.problem().geometry);
    else
      for (const int k : space_coordinates(names)) known.push_back("normal_" + names[k]);
    for (const auto& name : known)
      if (!builder_.names().knows(name)) declared.push_back(name);
    builder_.begin_data(declared);
    return declared;
  }

  double weight(const TomlValue& table) {
    const TomlValue* value = table.find("weight");
    if (!value) return 1;
    return not_negative(read_number(*value, "weight", builder_), value->where);
  }

  static double not_negative(double weight, const SourceLocation& where) {
    if (!(weight >= 0)) throw Error(where, "a weight must not be negative");
    return weight;
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

  // Columns by name: the coordinates first, as the engine expects, then the values.
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
  reader.read_integrals();
  reader.read_data();
}

}  // namespace lather::pde
