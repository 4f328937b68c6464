#include "lather/pde/file/problem_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lather/core/toml.hpp"
#include "lather/pde/file/data_file.hpp"
#include "lather/pde/file/problem_text.hpp"
#include "lather/pde/problem_builder.hpp"

namespace lather::pde {

using symbolic::Expr;

namespace {

const std::vector<std::string> kSections = {
    "name", "title",  "coordinates", "fields",   "periodic", "domain", "parameters", "let",      "condition",
    "map",  "ansatz", "unknown",     "equation", "network",  "data",   "training",   "reference"};
const std::vector<std::string> kTopKeys = {"name", "title", "coordinates", "fields", "periodic"};

// A key that belongs above the first [section] is the commonest slip in TOML; say so.
void only_keys(const TomlValue& table, std::string_view what, const std::vector<std::string>& known) {
  for (const auto& entry : table.entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end() &&
        std::find(kTopKeys.begin(), kTopKeys.end(), entry.key) != kTopKeys.end())
      throw Error(
          entry.where,
          fmt::format(
              "'{}' is not a key of {}: it belongs at the top of the file, before the first [section]",
              entry.key, what));
  table.only_keys(what, known);
}

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

class Reader {
 public:
  Reader(const TomlValue& root, std::filesystem::path folder, std::filesystem::path kept_data = {})
      : root_(root),
        folder_(std::move(folder)),
        kept_data_(std::move(kept_data)),
        builder_(name_of(root), title_of(root)) {}

  Problem read() {
    only_keys(root_, "a problem file", kSections);
    const auto coordinates = name_list("coordinates");
    const auto fields = name_list("fields");
    // Parameters first, for numbers may use them; everything else may refer to everything.
    read_definitions("parameters", NameKind::parameter);
    builder_.resolve();
    read_domain(coordinates);
    read_unknowns();
    read_definitions("let", NameKind::let);
    read_definitions("map", NameKind::physical);
    read_fields(fields);
    builder_.resolve();
    note_kinks(section("let").where);
    read_periodic();
    read_network();
    read_equations();
    read_conditions();
    read_data();
    section("training");  // a table, for train/recipe.hpp
    read_reference(fields);
    try {
      return builder_.build();
    } catch (const Error& error) {
      if (error.where().line > 0) throw;
      throw Error(root_.where, error.message());
    }
  }

 private:
  static std::string name_of(const TomlValue& root) {
    const TomlValue& value = root.required("name", "the problem");
    const SourceText& name = value.as_text("name");
    const auto allowed = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    };
    if (name.text.empty() || name.text[0] == '.' || !std::all_of(name.text.begin(), name.text.end(), allowed))
      throw Error(value.where, "the name of a problem is made of letters, digits, '-', '_' and '.'");
    return name.text;
  }
  static std::string title_of(const TomlValue& root) {
    const TomlValue* title = root.find("title");
    return title ? title->as_text("title").text : "";
  }

  // A section [name]; an empty table if there is none.
  const TomlValue& section(const std::string& name) const {
    static const TomlValue kNone;
    const TomlValue* value = root_.find(name);
    return value ? value->as_table("[" + name + "]") : kNone;
  }

  // The tables of [[name]].
  const std::vector<TomlValue>& tables(const std::string& name) const {
    static const std::vector<TomlValue> kNone;
    const TomlValue* value = root_.find(name);
    if (!value) return kNone;
    if (!value->is_array())
      throw Error(value->where,
                  fmt::format("'{}' is a list of tables: write [[{}]] with double brackets", name, name));
    for (const auto& item : value->items) item.as_table(fmt::format("every entry of [[{}]]", name));
    return value->items;
  }

  std::vector<SourceText> name_list(const std::string& key) const {
    const TomlValue& value = root_.required(key, "the problem");
    if (!value.is_array())
      throw Error(value.where, fmt::format("{} must be a list of names such as [\"x\", \"t\"], not {}", key,
                                           value.kind_name()));
    const auto names = value.as_texts(key);
    std::set<std::string> seen;
    for (const auto& name : names)
      if (!seen.insert(name.text).second)
        throw Error(name.where, fmt::format("'{}' is listed twice among the {}", name.text, key));
    return names;
  }

  double number(const TomlValue& value, const std::string& what) {
    if (value.is_number()) return value.real;
    if (value.is_text()) return builder_.parse_number(value.text, what);
    throw Error(value.where, fmt::format("{} must be a number or an expression in quotes, not {}", what,
                                         value.kind_name()));
  }

  // Numbers and expressions by name.
  void read_definitions(const std::string& name, NameKind kind) {
    for (const auto& [key, where, value] : section(name).entries) {
      const std::string what = fmt::format("{} in [{}]", key, name);
      if (value.is_number()) {
        if (kind == NameKind::parameter)
          builder_.parameter(key, value.real, where);
        else if (kind == NameKind::let)
          builder_.let(key, builder_.problem().graph->constant(value.real), where);
        else
          throw Error(
              value.where,
              fmt::format("{} must be an expression of the coordinates in quotes, not a number", what));
      } else if (value.is_text()) {
        builder_.define(kind, key, value.text, where);
      } else {
        throw Error(value.where, fmt::format("{} must be a number or an expression in quotes, not {}", what,
                                             value.kind_name()));
      }
    }
  }

  void read_domain(const std::vector<SourceText>& coordinates) {
    const TomlValue& domain = root_.required("domain", "the problem").as_table("[domain]");
    std::vector<std::string> names;
    for (const auto& c : coordinates) names.push_back(c.text);
    only_keys(domain, "[domain]", names);
    for (const auto& c : coordinates) {
      const TomlValue* ends = domain.find(c.text);
      if (!ends)
        throw Error(domain.where,
                    fmt::format("[domain] needs the ends of the coordinate '{}', such as {} = [0, 1]", c.text,
                                c.text));
      if (!ends->is_array() || ends->items.size() != 2)
        throw Error(ends->where,
                    fmt::format("the domain of '{}' must be its two ends, such as [0, 1]", c.text));
      const double low = number(ends->items[0], fmt::format("the low end of '{}'", c.text));
      const double high = number(ends->items[1], fmt::format("the high end of '{}'", c.text));
      if (!(low < high))
        throw Error(ends->where, fmt::format("the domain of '{}' is empty: [{}, {}]", c.text, low, high));
      builder_.coordinate(c.text, low, high, c.where);
    }
  }

  void read_unknowns() {
    for (const auto& [key, where, value] : section("unknown").entries) {
      const std::string what = fmt::format("{} in [unknown]", key);
      if (!value.is_table()) {
        builder_.unknown(key, number(value, what), {}, where);
        continue;
      }
      only_keys(value, what, {"initial", "known"});
      const TomlValue* known = value.find("known");
      builder_.unknown(key, number(value.required("initial", what), "initial"),
                       known ? std::optional(number(*known, "known")) : std::nullopt, where);
    }
  }

  // Every field is an output of the network, or an expression of such outputs.
  void read_fields(const std::vector<SourceText>& fields) {
    if (!root_.find("ansatz")) {
      for (const auto& f : fields) builder_.field(f.text, f.where);
      return;
    }
    const TomlValue& ansatz = section("ansatz");
    std::vector<std::string> known{"outputs"};
    for (const auto& f : fields) known.push_back(f.text);
    only_keys(ansatz, "[ansatz]", known);
    const TomlValue& outputs = ansatz.required("outputs", "[ansatz]");
    if (!outputs.is_array())
      throw Error(outputs.where, "outputs must be a list of names such as [\"N1\", \"N2\"]");
    for (const auto& output : outputs.as_texts("outputs")) builder_.output(output.text, output.where);
    for (const auto& f : fields) {
      const TomlValue* expression = ansatz.find(f.text);
      if (!expression)
        throw Error(ansatz.where, fmt::format("[ansatz] needs an expression for the field '{}'", f.text));
      builder_.define(NameKind::field, f.text, expression->as_text(fmt::format("the ansatz of '{}'", f.text)),
                      f.where);
    }
  }

  void read_periodic() {
    const TomlValue* periodic = root_.find("periodic");
    if (!periodic) return;
    if (!periodic->is_array())
      throw Error(periodic->where, "periodic must be a list of coordinates such as [\"x\"]");
    for (const auto& name : periodic->as_texts("periodic")) builder_.periodic(name.text, name.where);
  }

  void read_network() {
    const TomlValue& table = section("network");
    const std::vector<std::string> own{"inputs", "normalize", "harmonics"};
    std::vector<std::string> known = own;
    for (const auto& field : options::describe(net::NetworkOptions{})) known.push_back(field.name);
    only_keys(table, "[network]", known);
    TomlValue rest = table;
    std::erase_if(rest.entries, [&](const TomlEntry& entry) {
      return std::find(own.begin(), own.end(), entry.key) != own.end();
    });
    options::read(builder_.problem().network, "network", rest);
    if (const TomlValue* harmonics = table.find("harmonics")) {
      constexpr std::int64_t kMost = 64;
      const auto count = harmonics->as_integer("harmonics");
      if (count < 1 || count > kMost)
        throw Error(harmonics->where, fmt::format("harmonics must lie in [1, {}]", kMost));
      if (!root_.find("periodic"))
        throw Error(harmonics->where, "harmonics has no effect without periodic coordinates");
      builder_.harmonics(static_cast<int>(count));
    }
    // What cannot be meant, before memory is asked for.
    constexpr double kMostWeights = 2e9;
    const auto& network = builder_.problem().network;
    const double weights =
        static_cast<double>(network.depth) * static_cast<double>(network.width * network.width);
    if (weights > kMostWeights)
      throw Error(
          table.where,
          fmt::format("a network of width {} and depth {} has {:.0e} weights; at most {:.0e} are supported",
                      network.width, network.depth, weights, kMostWeights));
    const TomlValue* inputs = table.find("inputs");
    if (const TomlValue* normalize = table.find("normalize")) {
      if (inputs)
        throw Error(normalize->where, "normalize has no effect on inputs, which are fed as they are written");
      builder_.normalize(normalize->as_boolean("normalize"));
    }
    if (inputs)
      for (const auto& text : inputs->as_texts("inputs"))
        builder_.network_input(builder_.parse(text), text.where);
  }

  std::vector<Expr> residuals(const TomlValue& table, const std::string& what) {
    std::vector<Expr> list;
    for (const auto& text : table.required("residual", what).as_texts("residual"))
      list.push_back(builder_.parse(text));
    note_kinks(table.required("residual", what).where);
    return list;
  }

  void note_kinks(const SourceLocation& where) {
    Problem& problem = builder_.problem();
    for (const auto& [function, coordinate] : problem.symbols->take_kinks()) {
      const bool jumps = function.kind() == symbolic::Kind::step || function.kind() == symbolic::Kind::sign;
      problem.warnings.push_back(
          fmt::format("{}: the derivative of {} by {} is taken{}", where.str(),
                      written_out(problem, function), problem.symbols->coordinate_names()[coordinate],
                      jumps ? ": its jump is dropped, as if it were constant"
                            : ": it jumps at the kink, and a further derivative drops that jump"));
    }
  }

  double weight(const TomlValue& table) {
    const TomlValue* value = table.find("weight");
    if (!value) return 1;
    const double w = number(*value, "weight");
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
    if (!term_names_.insert(name.text).second)
      throw Error(name.where,
                  fmt::format("the name '{}' is used twice among equations, conditions and data", name.text));
    return name;
  }

  void read_equations() {
    for (const auto& table : tables("equation")) {
      only_keys(table, "[[equation]]", {"name", "residual", "weight"});
      const SourceText name = term_name(table, "[[equation]]");
      builder_.equation(name.text, residuals(table, "[[equation]]"), weight(table),
                        table.required("residual", "[[equation]]").where);
    }
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

  void read_conditions() {
    for (const auto& table : tables("condition")) {
      only_keys(table, "[[condition]]", {"name", "where", "residual", "weight"});
      const SourceText name = term_name(table, "[[condition]]");
      std::vector<Piece> pieces;
      for (const auto& face : table.required("where", "[[condition]]").as_texts("where"))
        pieces.push_back(read_face(face));
      builder_.condition(name.text, pieces, residuals(table, "[[condition]]"), weight(table),
                         table.required("residual", "[[condition]]").where);
    }
  }

  void read_data() {
    for (const auto& table : tables("data")) {
      only_keys(table, "[[data]]", {"name", "file", "residual", "weight"});
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

  // The value of an expression of parameters; nothing for a text that is none, such as a choice by name.
  std::optional<double> number_in(const TomlValue& value) {
    if (!value.is_text()) return {};
    try {
      return builder_.parse_number(value.text, "a setting of the reference");
    } catch (const Error&) {
      return {};
    }
  }

  void read_reference(const std::vector<SourceText>& fields) {
    const TomlValue& reference = section("reference");
    builder_.problem().reference = reference.to_json();
    if (const TomlValue* solver = reference.find("solver")) {
      solver->as_text("solver");
      for (const auto& [key, where, value] : reference.entries)
        if (const auto number = number_in(value); number && key != "solver")
          builder_.problem().reference[key] = *number;
      return;
    }
    std::vector<std::string> known{"solver"};
    for (const auto& f : fields) known.push_back(f.text);
    only_keys(reference, "[reference]", known);
    for (const auto& [key, where, value] : reference.entries)
      builder_.exact(key, builder_.parse(value.as_text(fmt::format("the closed form of '{}'", key))),
                     value.text.where);
  }

  const TomlValue& root_;
  std::filesystem::path folder_, kept_data_;
  ProblemBuilder builder_;
  std::set<std::string> term_names_;
};

}  // namespace

Problem read_problem(const TomlValue& root, const std::filesystem::path& folder,
                     const std::filesystem::path& kept_data) {
  return Reader(root, folder, kept_data).read();
}

Problem read_problem_text(std::string_view text, const std::string& file_name,
                          const std::vector<Override>& overrides) {
  TomlValue root = parse_toml(text, file_name);
  for (const auto& [path, value] : overrides) set_toml(root, path, value);
  return read_problem(root, std::filesystem::path(file_name).parent_path());
}

Problem read_problem_file(const std::filesystem::path& path, const std::vector<Override>& overrides) {
  TomlValue root = read_toml(path.string());
  for (const auto& [key, value] : overrides) set_toml(root, key, value);
  return read_problem(root, path.parent_path());
}

}  // namespace lather::pde
