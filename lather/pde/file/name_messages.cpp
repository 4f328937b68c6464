// What the kinds of names are called, and the messages about names that are unknown or out of place.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lather/pde/file/name_table.hpp"
#include "lather/symbolic/functions.hpp"

namespace lather::pde {

using symbolic::Expr;

std::string_view kind_name(NameKind kind) {
  switch (kind) {
    case NameKind::coordinate: return "coordinate";
    case NameKind::physical: return "physical coordinate";
    case NameKind::field: return "field";
    case NameKind::output: return "network output";
    case NameKind::parameter: return "parameter";
    case NameKind::unknown: return "unknown";
    case NameKind::let: return "definition";
    case NameKind::column: return "data column";
    case NameKind::table: return "table";
  }
  return "";
}

bool has_derivatives(NameKind kind) {
  return kind == NameKind::field || kind == NameKind::output || kind == NameKind::let ||
         kind == NameKind::table;
}

void NameTable::require_coordinates_only(Expr e, bool unknowns_allowed, const SourceLocation& where,
                                         std::string_view what) const {
  for (Expr s : symbolic::symbols_of(std::span(&e, 1))) {
    const Entry* entry = find(s.node().name);
    if (entry && entry->kind == NameKind::coordinate) continue;
    if (entry && entry->kind == NameKind::unknown && unknowns_allowed) continue;
    const auto output = symbols_.find(s);
    const auto table = symbols_.find_table(s);
    throw Error(where, fmt::format("{} may depend on coordinates{} only, not on {}", what,
                                   unknowns_allowed ? " and unknowns" : "",
                                   output  ? fmt::format("the network output '{}'",
                                                         symbols_.output_names()[output->output])
                                   : table ? fmt::format("the table '{}'", symbols_.table_name(table->table))
                                   : entry ? fmt::format("the {} '{}'", kind_name(entry->kind), entry->name)
                                           : s.str()));
  }
}

void NameTable::unknown_name(std::string_view name, const SourceLocation& where) const {
  std::vector<std::string> listed, all{"pi", "e"};
  for (const auto& f : symbolic::known_functions()) all.emplace_back(f.name);
  for (const Entry& entry : entries_)
    if (!parameters_only_ || entry.kind == NameKind::parameter) listed.push_back(entry.name);
  all.insert(all.end(), listed.begin(), listed.end());
  std::vector<std::string> directions;
  for (const Entry& entry : entries_)
    if (entry.kind == NameKind::coordinate || entry.kind == NameKind::physical)
      directions.push_back(entry.name);
  if (!parameters_only_)
    for (const Entry& entry : entries_)
      if (has_derivatives(entry.kind))
        for (const auto& x : directions) {
          all.push_back(entry.name + "_" + x);
          for (const auto& y : directions) all.push_back(entry.name + "_" + x + y);
        }
  std::string message = fmt::format("unknown name '{}'", name);
  if (parameters_only_) message += fmt::format(": {} may be made of numbers and parameters only", context_);
  const Entry* base = nullptr;
  if (const auto underscore = name.rfind('_'); underscore != std::string_view::npos)
    base = find(name.substr(0, underscore));
  if (const auto near = nearest_name(name, all); !near.empty())
    message += fmt::format("; did you mean '{}'?", near);
  else if (base && has_derivatives(base->kind))
    message += fmt::format("; derivatives of '{}' are taken in {}", base->name, fmt::join(directions, ", "));
  constexpr std::size_t kListed = 30;
  if (listed.size() > kListed) listed.resize(kListed), listed.push_back("…");
  message += listed.empty() ? " (known: numbers, pi, e and functions of them)"
                            : fmt::format(" (known: {})", fmt::join(listed, ", "));
  throw Error(where, message);
}

}  // namespace lather::pde
