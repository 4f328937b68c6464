#include "lather/pde/file/problem_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "lather/core/formats/toml.hpp"
#include "lather/pde/file/physical_coordinates.hpp"
#include "lather/pde/file/problem_tables.hpp"
#include "lather/pde/file/sections/read_network.hpp"
#include "lather/pde/file/sections/read_shapes.hpp"
#include "lather/pde/file/sections/read_tables.hpp"
#include "lather/pde/file/sections/read_terms.hpp"
#include "lather/pde/problem_builder.hpp"
#include "lather/symbolic/evaluate.hpp"

namespace lather::pde {

namespace {

const std::vector<std::string> kSections = {"name",     "title",      "coordinates", "fields",    "periodic",
                                            "domain",   "parameters", "let",         "condition", "map",
                                            "ansatz",   "unknown",    "equation",    "network",   "data",
                                            "training", "reference",  "shape",       "integral",  "table"};

class Reader {
 public:
  Reader(const TomlValue& root, std::filesystem::path folder, std::filesystem::path kept_data)
      : root_(root),
        folder_(std::move(folder)),
        kept_data_(std::move(kept_data)),
        builder_(name_of(root), title_of(root)) {}

  Problem read() {
    only_problem_keys(root_, "a problem file", kSections);
    const auto coordinates = name_list("coordinates");
    const auto fields = name_list("fields");
    // Parameters first, since numbers may use them; everything else may refer to everything.
    read_definitions("parameters", NameKind::parameter);
    builder_.resolve();
    const auto geometry = read_shapes(root_, coordinates, folder_, kept_data_, builder_);
    read_domain(coordinates, geometry.get());
    use_shapes(geometry);
    read_tables(root_, folder_, kept_data_, builder_);
    read_unknowns();
    read_definitions("let", NameKind::let);
    read_definitions("map", NameKind::physical);
    read_fields(fields);
    builder_.resolve();
    note_kinks(builder_, section("let").where);
    read_periodic();
    read_network(root_, builder_);
    read_terms(root_, folder_, kept_data_, builder_);
    section("training");  // a table, for train/recipe.hpp
    read_reference(fields);
    try {
      return builder_.build();
    } catch (const Error& error) {
      if (error.where().line > 0) throw;
      throw Error(root_.where, error.message());
    }
  }

  // After read(): the physical coordinates as expressions of its coordinates and unknowns.
  std::vector<Field> physical() {
    std::vector<Field> list;
    for (const auto& entry : section("map").entries) list.push_back({entry.key, builder_.parse(entry.key)});
    return list;
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

  const TomlValue& section(const std::string& name) const { return problem_section(root_, name); }
  double number(const TomlValue& value, const std::string& what) {
    return read_number(value, what, builder_);
  }

  std::vector<SourceText> name_list(const std::string& key) const {
    const TomlValue& value = root_.required(key, "the problem");
    if (!value.is_array())
      throw Error(value.where, fmt::format("{} must be a list of names such as [\"x\", \"t\"], not {}", key,
                                           value.kind_name()));
    auto names = value.as_texts(key);
    std::set<std::string> seen;
    for (const auto& name : names)
      if (!seen.insert(name.text).second)
        throw Error(name.where, fmt::format("'{}' is listed twice among the {}", name.text, key));
    return names;
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

  void use_shapes(const std::shared_ptr<const Geometry>& geometry) {
    if (!geometry) return;
    if (const TomlValue* map = root_.find("map"))
      throw Error(map->where,
                  "[map] and [shape] cannot be combined: shapes are made of the coordinates themselves");
    builder_.geometry(geometry);
    builder_.names().set_distance([this, geometry](std::string_view name, const SourceLocation& where) {
      return smooth_distance_to(builder_.problem(), *geometry, name, where);
    });
  }

  // The ends of a shape's coordinates are those of the shape.
  void read_domain(const std::vector<SourceText>& coordinates, const Geometry* geometry) {
    const TomlValue& domain = geometry && !root_.find("domain")
                                  ? problem_section(root_, "domain")
                                  : root_.required("domain", "the problem").as_table("[domain]");
    std::vector<std::string> names;
    for (const auto& c : coordinates) names.push_back(c.text);
    only_problem_keys(domain, "[domain]", names);
    for (const auto& c : coordinates) {
      const TomlValue* ends = domain.find(c.text);
      if (const int axis = axis_of(geometry, c.text); axis >= 0) {
        if (ends)
          throw Error(
              ends->where,
              fmt::format("leave '{}' out of [domain]: its range is that of the shape 'domain'", c.text));
        const auto box = geometry->domain->bounds();
        builder_.coordinate(c.text, box.low[axis], box.high[axis], c.where);
        continue;
      }
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

  static int axis_of(const Geometry* geometry, const std::string& coordinate) {
    if (!geometry) return -1;
    const auto at = std::find(geometry->names.begin(), geometry->names.end(), coordinate);
    return at == geometry->names.end() ? -1 : static_cast<int>(at - geometry->names.begin());
  }

  void read_unknowns() {
    for (const auto& [key, where, value] : section("unknown").entries) {
      const std::string what = fmt::format("{} in [unknown]", key);
      if (!value.is_table()) {
        builder_.unknown(key, number(value, what), {}, where);
        continue;
      }
      only_problem_keys(value, what, {"initial", "known"});
      const TomlValue* known = value.find("known");
      builder_.unknown(key, number(value.required("initial", what), "initial"),
                       known ? std::optional(number(*known, "known")) : std::nullopt, where);
    }
  }

  // Every field is an output of the network, or an expression in such outputs.
  void read_fields(const std::vector<SourceText>& fields) {
    if (!root_.find("ansatz")) {
      for (const auto& f : fields) builder_.field(f.text, f.where);
      return;
    }
    const TomlValue& ansatz = section("ansatz");
    std::vector<std::string> known{"outputs"};
    for (const auto& f : fields) known.push_back(f.text);
    only_problem_keys(ansatz, "[ansatz]", known);
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

  // The value of an expression in parameters; nothing for any other text, such as a choice by name.
  std::optional<double> number_in(const TomlValue& value) {
    if (!value.is_text()) return {};
    try {
      return builder_.parse_number(value.text, "a setting of the reference");
    } catch (const Error&) {
      return {};
    }
  }

  // A solver with its options, or a closed form for each field.
  void read_reference(const std::vector<SourceText>& fields) {
    const TomlValue& table = section("reference");
    if (const TomlValue* solver = table.find("solver")) {
      read_solver(table, solver->as_text("solver").text);
      return;
    }
    std::vector<std::string> known{"solver"};
    for (const auto& f : fields) known.push_back(f.text);
    only_problem_keys(table, "[reference]", known);
    for (const auto& [key, where, value] : table.entries)
      builder_.exact(key, builder_.parse(value.as_text(fmt::format("the closed form of '{}'", key))),
                     value.text.where);
  }

  void read_solver(const TomlValue& table, const std::string& solver) {
    ReferenceRequest& reference = builder_.problem().reference;
    reference.solver = solver;
    reference.options = make_table({}, table.where);
    for (const auto& entry : table.entries) {
      if (entry.key == "solver") continue;
      if (entry.key == "up_to_constant") {
        if (!entry.value.is_array())
          throw Error(entry.value.where, "up_to_constant must be a list of fields");
        for (const auto& name : entry.value.as_texts("up_to_constant"))
          reference.up_to_constant.push_back(name.text);
        continue;
      }
      reference.options.entries.push_back(entry);
      if (const auto number = number_in(entry.value)) {
        TomlValue& value = reference.options.entries.back().value;
        value.kind = TomlValue::Kind::real;
        value.real = *number;
      }
    }
  }

  const TomlValue& root_;
  std::filesystem::path folder_, kept_data_;
  ProblemBuilder builder_;
};

}  // namespace

Problem read_problem(const TomlValue& root, const std::filesystem::path& folder,
                     const std::filesystem::path& kept_data) {
  return Reader(root, folder, kept_data).read();
}

std::vector<std::pair<std::string, std::vector<double>>> physical_coordinates(
    const TomlValue& root, const std::filesystem::path& folder, const std::filesystem::path& kept_data,
    std::span<const double> unknowns, const Points& points) {
  std::vector<std::pair<std::string, std::vector<double>>> named;
  if (!root.find("map")) return named;
  Reader reader(root, folder, kept_data);
  const Problem problem = reader.read();
  std::vector<symbolic::Expr> map;
  for (auto& [name, value] : reader.physical()) {
    map.push_back(value);
    named.emplace_back(name, std::vector<double>(points.count()));
  }
  symbolic::ExprMap<double> symbols;
  for (std::size_t k = 0; k < problem.unknowns.size(); ++k)
    symbols[problem.graph->symbol(problem.unknowns[k].name)] = unknowns[k];
  for (std::size_t i = 0; i < points.count(); ++i) {
    for (int k = 0; k < problem.dimensions(); ++k)
      symbols[problem.symbols->coordinate(k)] = points.coordinates[k][i];
    const auto values = symbolic::evaluate<double>(map, symbols);
    for (std::size_t k = 0; k < map.size(); ++k) named[k].second[i] = values[k];
  }
  return named;
}

Problem read_problem_text(std::string_view text, const std::string& file_name,
                          const std::vector<Override>& overrides) {
  TomlValue root = parse_toml(text, file_name);
  for (const auto& [path, value, where] : overrides) set_toml(root, path, value, where);
  return read_problem(root, std::filesystem::path(file_name).parent_path());
}

Problem read_problem_file(const std::filesystem::path& path, const std::vector<Override>& overrides) {
  TomlValue root = read_toml(path.string());
  for (const auto& [key, value, where] : overrides) set_toml(root, key, value, where);
  return read_problem(root, path.parent_path());
}

}  // namespace lather::pde
