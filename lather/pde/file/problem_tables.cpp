#include "lather/pde/file/problem_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/pde/file/problem_text.hpp"

namespace lather::pde {

void only_problem_keys(const TomlValue& table, std::string_view what, const std::vector<std::string>& known) {
  static const std::vector<std::string> kTopKeys = {"name", "title", "coordinates", "fields", "periodic"};
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

const TomlValue& problem_section(const TomlValue& root, const std::string& name) {
  static const TomlValue kNone;
  const TomlValue* value = root.find(name);
  return value ? value->as_table("[" + name + "]") : kNone;
}

const std::vector<TomlValue>& problem_tables(const TomlValue& root, const std::string& name) {
  static const std::vector<TomlValue> kNone;
  const TomlValue* value = root.find(name);
  if (!value) return kNone;
  if (!value->is_array())
    throw Error(value->where,
                fmt::format("'{}' is a list of tables: write [[{}]] with double brackets", name, name));
  for (const auto& item : value->items) item.as_table(fmt::format("every entry of [[{}]]", name));
  return value->items;
}

double read_number(const TomlValue& value, const std::string& what, ProblemBuilder& builder) {
  if (value.is_number()) return value.real;
  if (value.is_text()) return builder.parse_number(value.text, what);
  throw Error(value.where,
              fmt::format("{} must be a number or an expression in quotes, not {}", what, value.kind_name()));
}

void note_kinks(ProblemBuilder& builder, const SourceLocation& where) {
  Problem& problem = builder.problem();
  for (const auto& [function, coordinate] : problem.symbols->take_kinks()) {
    const bool jumps = function.kind() == symbolic::Kind::step || function.kind() == symbolic::Kind::sign;
    problem.warnings.push_back(
        fmt::format("{}: the derivative of {} by {} is taken{}", where.str(), written_out(problem, function),
                    problem.symbols->coordinate_names()[coordinate],
                    jumps ? ": its jump is dropped, as if it were constant"
                          : ": it jumps at the kink, and a further derivative drops that jump"));
  }
}

}  // namespace lather::pde
