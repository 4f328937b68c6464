#include "lather/pde/file/name_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "lather/pde/coordinate_map.hpp"
#include "lather/symbolic/functions.hpp"

namespace lather::pde {

using symbolic::Expr;

namespace {

constexpr std::size_t kMaxExpressionBytes = 20000;
constexpr std::size_t kMaxNames = 2000;
constexpr std::size_t kMaxName = 64, kMaxShortNameDerivatives = 8;
constexpr std::size_t kMaxDerivativeName = kMaxName + 1 + kMaxName * kMaxShortNameDerivatives;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
bool is_name(std::string_view name) {
  return !name.empty() && is_name_start(name[0]) && std::all_of(name.begin(), name.end(), is_name_part);
}

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (is_name_part(text[i])) {
      while (end < text.size() && is_name_part(text[end])) ++end;
      if (is_name_start(text[i])) names.push_back(text.substr(i, end - i));
    }
    i = end;
  }
  return names;
}

bool is_reserved(std::string_view name) {
  const auto functions = symbolic::known_functions();
  return name == "pi" || name == "e" || name == "D" || name == "if" ||
         std::any_of(functions.begin(), functions.end(), [&](const auto& f) { return f.name == name; });
}

}  // namespace

NameTable::Entry* NameTable::find(std::string_view name) {
  const auto it =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  return it == entries_.end() ? nullptr : &*it;
}

void NameTable::check_new_name(NameKind kind, const std::string& name, const SourceLocation& where) const {
  if (!is_name(name) || name.size() > kMaxName)
    throw Error(where, fmt::format("'{}' cannot name a {}: a name is a letter followed by letters, digits "
                                   "and underscores, at most {}",
                                   name.substr(0, kMaxName), kind_name(kind), kMaxName));
  if (entries_.size() >= kMaxNames)
    throw Error(where, fmt::format("more than {} names are defined", kMaxNames));
  if (is_reserved(name))
    throw Error(where, fmt::format("'{}' cannot name a {}: it is a function or constant of the language",
                                   name, kind_name(kind)));
  if (const Entry* taken = find(name)) {
    std::string at = taken->where.line > 0 ? fmt::format(" (line {})", taken->where.line) : "";
    throw Error(where, fmt::format("the name '{}' is used twice: as a {} and as a {}{}", name,
                                   kind_name(kind), kind_name(taken->kind), at));
  }
}

void NameTable::declare(NameKind kind, const std::string& name, Expr meaning, const SourceLocation& where) {
  check_new_name(kind, name, where);
  if (kind == NameKind::physical) inverse_.clear();
  entries_.push_back({kind, name, where, {}, meaning});
}

void NameTable::define(NameKind kind, const std::string& name, const SourceText& text,
                       const SourceLocation& where) {
  check_new_name(kind, name, where);
  entries_.push_back({kind, name, where, text, {}});
}

void NameTable::remove(const std::string& name) {
  std::erase_if(entries_, [&](const Entry& e) { return e.name == name; });
}

std::vector<NameTable::Derivative> NameTable::readings(std::string_view name) const {
  std::vector<Derivative> found;
  std::vector<const Entry*> parts;
  const Entry* of = nullptr;
  const auto same = [](const Derivative& a, const Derivative& b) {
    return a.of == b.of && std::is_permutation(a.directions.begin(), a.directions.end(), b.directions.begin(),
                                               b.directions.end());
  };
  // Coordinate names may begin alike: only splits that reach the end of the name are followed.
  std::vector<bool> splits;  // can the last n characters be split?
  const auto find_splits = [&](std::string_view suffix) {
    splits.assign(suffix.size() + 1, false);
    splits[0] = true;
    for (std::size_t n = 1; n <= suffix.size(); ++n)
      for (const Entry& entry : entries_)
        if ((entry.kind == NameKind::coordinate || entry.kind == NameKind::physical) &&
            entry.name.size() <= n && splits[n - entry.name.size()] &&
            suffix.substr(suffix.size() - n).starts_with(entry.name))
          splits[n] = true;
  };
  const std::function<void(std::string_view)> split = [&](std::string_view suffix) {
    if (found.size() > 1 || !splits[suffix.size()]) return;
    if (suffix.empty()) {
      const Derivative reading{of, parts};
      if (found.empty() || !same(found[0], reading)) found.push_back(reading);
      return;
    }
    if (parts.size() == kMaxShortNameDerivatives) return;
    for (const Entry& entry : entries_) {
      if (entry.kind != NameKind::coordinate && entry.kind != NameKind::physical) continue;
      if (!suffix.starts_with(entry.name)) continue;
      parts.push_back(&entry);
      split(suffix.substr(entry.name.size()));
      parts.pop_back();
    }
  };
  if (name.size() > kMaxDerivativeName) return found;
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] != '_') continue;
    of = find(name.substr(0, i));
    if (!of || !has_derivatives(of->kind)) continue;
    find_splits(name.substr(i + 1));
    split(name.substr(i + 1));
  }
  return found;
}

std::vector<std::size_t> NameTable::needs(const Entry& entry) const {
  std::vector<std::size_t> list;
  const auto add = [&](const Entry* e) { list.push_back(static_cast<std::size_t>(e - entries_.data())); };
  const auto add_map = [&] {
    for (const Entry& e : entries_)
      if (e.kind == NameKind::physical) add(&e);
  };
  for (const auto name : names_in(entry.text.text)) {
    if (const Entry* exact = find(name)) {
      // Derivatives in one physical coordinate need the whole map.
      if (exact->kind == NameKind::physical && entry.kind != NameKind::physical)
        add_map();
      else
        add(exact);
      continue;
    }
    for (const auto& reading : readings(name)) {
      add(reading.of);
      for (const Entry* direction : reading.directions)
        if (direction->kind == NameKind::physical) add_map();
    }
  }
  return list;
}

void NameTable::resolve() {
  for (const Entry& entry : entries_)
    if (const auto reading = readings(entry.name); !reading.empty())
      throw Error(entry.where,
                  fmt::format("the {} '{}' reads as a derivative of the {} '{}'; give it another name",
                              kind_name(entry.kind), entry.name, kind_name(reading[0].of->kind),
                              reading[0].of->name));

  enum class State { untouched, open, done };
  std::vector<State> state(entries_.size(), State::untouched);
  struct Visit {
    std::size_t entry;
    std::vector<std::size_t> needs;
    std::size_t next = 0;
  };
  std::vector<Visit> stack;  // no recursion: definitions may be nested as deep as the file is long
  const auto open = [&](std::size_t i) {
    state[i] = State::open;
    stack.push_back({i, entries_[i].meaning ? std::vector<std::size_t>{} : needs(entries_[i])});
  };
  for (std::size_t root = 0; root < entries_.size(); ++root) {
    if (state[root] != State::untouched) continue;
    open(root);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next == visit.needs.size()) {
        if (!entries_[visit.entry].meaning) resolve_entry(entries_[visit.entry]);
        state[visit.entry] = State::done;
        stack.pop_back();
        continue;
      }
      const std::size_t next = visit.needs[visit.next++];
      if (state[next] == State::untouched) {
        open(next);
      } else if (state[next] == State::open) {
        const auto first =
            std::find_if(stack.begin(), stack.end(), [&](const Visit& v) { return v.entry == next; });
        std::string circle;
        for (auto v = first; v != stack.end(); ++v) circle += entries_[v->entry].name + " -> ";
        throw Error(entries_[next].where, fmt::format("definitions need each other in a circle: {}{}", circle,
                                                      entries_[next].name));
      }
    }
  }
  invert_map({});
}

SourceLocation NameTable::where(std::string_view name) const {
  const Entry* entry = find(name);
  return entry ? entry->where : SourceLocation{};
}

Expr NameTable::distance(std::string_view name, const SourceLocation& where) {
  if (!distance_) throw Error(where, "distance() measures from shapes: there is no [shape]");
  return distance_(name, where);
}

void NameTable::resolve_entry(Entry& entry) {
  const std::string what = fmt::format("the {} '{}'", kind_name(entry.kind), entry.name);
  if (entry.kind == NameKind::parameter) {
    entry.meaning = graph_.constant(parse_number(entry.text, what));
    return;
  }
  entry.meaning = parse_with(entry.text, false, what);
  if (entry.kind == NameKind::physical)
    require_coordinates_only(entry.meaning, true, entry.text.place(0), what);
}

Expr NameTable::parse_with(const SourceText& text, bool parameters_only, std::string_view what) {
  if (text.text.size() > kMaxExpressionBytes)
    throw Error(text.place(0), fmt::format("an expression of {} characters; at most {} are read",
                                           text.text.size(), kMaxExpressionBytes));
  parameters_only_ = parameters_only;
  context_ = what;
  try {
    return symbolic::parse(text.text, graph_, *this, text.where);
  } catch (const Error& error) {
    if (error.where().line == 0) throw Error(text.place(0), error.message());
    if (text.places.empty()) throw;
    // The parser counts columns on one line; this text runs over several, or has escapes.
    throw Error(text.place(static_cast<std::size_t>(std::max(0, error.where().column - text.where.column))),
                error.message());
  }
}

Expr NameTable::parse(const SourceText& text) { return parse_with(text, false, "the expression"); }

double NameTable::parse_number(const SourceText& text, std::string_view what) {
  return parse_with(text, true, what).node().constant;
}

Expr NameTable::name(std::string_view name, const SourceLocation& where) {
  if (const Entry* entry = find(name)) {
    if (parameters_only_ && entry->kind != NameKind::parameter)
      throw Error(where, fmt::format("'{}' is a {}; {} may be made of numbers and parameters only", name,
                                     kind_name(entry->kind), context_));
    if (!entry->meaning) throw Error(where, fmt::format("'{}' has no meaning yet", name));
    return entry->meaning;
  }
  const auto found = readings(name);
  if (found.empty()) unknown_name(name, where);
  const auto written = [](const Derivative& d) {
    std::string text = "D(" + d.of->name;
    for (const Entry* direction : d.directions) text += ", " + direction->name;
    return text + ")";
  };
  if (found.size() > 1)
    throw Error(where,
                fmt::format("'{}' is ambiguous: write {} or {}", name, written(found[0]), written(found[1])));
  if (parameters_only_)
    throw Error(where, fmt::format("'{}' is a derivative; {} may be made of numbers and parameters only",
                                   name, context_));
  Expr e = found[0].of->meaning;
  for (const Entry* direction : found[0].directions) e = derivative(e, direction->name, where);
  return e;
}

Expr NameTable::derivative(Expr e, std::string_view direction, const SourceLocation& where) {
  std::vector<std::string> known;
  std::size_t physical = 0;
  for (const Entry& entry : entries_) {
    const bool is_physical = entry.kind == NameKind::physical;
    if (!is_physical && entry.kind != NameKind::coordinate) continue;
    if (entry.name == direction) {
      if (is_physical) return physical_derivative(e, physical, where);
      const auto& names = symbols_.coordinate_names();
      return coordinate_derivative(
          e, static_cast<int>(std::find(names.begin(), names.end(), direction) - names.begin()), where);
    }
    physical += is_physical;
    known.push_back(entry.name);
  }
  throw Error(where, unknown_name_message("coordinate", direction, known));
}

Expr NameTable::coordinate_derivative(Expr e, int coordinate, const SourceLocation& where) {
  for (Expr s : symbolic::symbols_of(std::span(&e, 1)))
    if (const auto d = symbols_.find(s); d && d->orders.total() >= symbolic::kMaxOrder)
      throw Error(where, fmt::format("derivatives of the network above order {} are not supported",
                                     symbolic::kMaxOrder));
  return symbols_.total_derivative(e, coordinate);
}

Expr NameTable::physical_derivative(Expr e, std::size_t physical, const SourceLocation& where) {
  if (inverse_.empty()) invert_map(where);
  Expr sum = graph_.constant(0);
  for (std::size_t j = 0; j < map_coordinates_.size(); ++j) {
    const Expr factor = inverse_[physical][j];
    if (!factor.is_constant(0)) sum = sum + factor * coordinate_derivative(e, map_coordinates_[j], where);
  }
  return sum;
}

void NameTable::invert_map(const SourceLocation& where) {
  std::vector<Expr> map;
  std::vector<std::string> names;
  SourceLocation first;
  for (const Entry& e : entries_)
    if (e.kind == NameKind::physical) {
      if (!e.meaning)
        throw Error(where, "the map of the coordinates cannot use derivatives in physical coordinates");
      if (map.empty()) first = e.where;
      map.push_back(e.meaning);
      names.push_back(e.name);
    }
  if (map.empty()) return;
  CoordinateMap inverted = invert_coordinate_map(map, names, symbols_, first);
  inverse_ = std::move(inverted.inverse);
  map_coordinates_ = std::move(inverted.coordinates);
}

}  // namespace lather::pde
