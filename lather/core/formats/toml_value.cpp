#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "lather/core/formats/toml.hpp"

namespace lather {

namespace {

TomlValue value_from_json(const nlohmann::json& json, const SourceLocation& where) {
  using Kind = TomlValue::Kind;
  if (json.is_null()) throw Error(where, "null has no meaning here");
  TomlValue v;
  v.where = where;
  if (json.is_object()) {
    for (const auto& [key, child] : json.items())
      v.entries.push_back({key, where, value_from_json(child, where)});
  } else if (json.is_array()) {
    v.kind = Kind::array;
    for (const auto& child : json) v.items.push_back(value_from_json(child, where));
  } else if (json.is_boolean()) {
    v.kind = Kind::boolean;
    v.boolean = json.get<bool>();
  } else if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) {  // a seed
    v.kind = Kind::text;
    v.text = {json.dump(), where, {}};
  } else if (json.is_number_integer()) {
    v.kind = Kind::integer;
    v.integer = json.get<std::int64_t>();
    v.real = static_cast<double>(v.integer);
  } else if (json.is_number()) {
    v.kind = Kind::real;
    v.real = json.get<double>();
  } else {
    v.kind = Kind::text;
    v.text = {json.get<std::string>(), where, {}};
  }
  return v;
}

}  // namespace

TomlValue make_table(std::vector<TomlEntry> entries, const SourceLocation& where) {
  TomlValue table;
  table.where = where;
  table.entries = std::move(entries);
  return table;
}

std::string toml_text(const nlohmann::json& value) {
  std::string text;
  if (value.is_array()) {
    for (const auto& item : value) text += (text.empty() ? "" : ", ") + toml_text(item);
    return "[" + text + "]";
  }
  if (value.is_object()) {
    for (const auto& [key, item] : value.items())
      text += (text.empty() ? "" : ", ") + nlohmann::json(key).dump() + " = " + toml_text(item);
    return "{" + text + "}";
  }
  if (value.is_null()) throw Error("null is not a value");
  return value.dump();
}

TomlValue toml_from_json(const nlohmann::json& json, const SourceLocation& where) {
  if (!json.is_object()) throw Error(where, fmt::format("expected a table of options, got {}", json.dump()));
  return value_from_json(json, where);
}

void merge_toml(TomlValue& table, const TomlValue& over) {
  for (const auto& entry : over.entries) {
    const auto here = std::find_if(table.entries.begin(), table.entries.end(),
                                   [&](const TomlEntry& e) { return e.key == entry.key; });
    if (here == table.entries.end())
      table.entries.push_back(entry);
    else if (here->value.is_table() && entry.value.is_table())
      merge_toml(here->value, entry.value);
    else
      *here = entry;
  }
}

std::string_view TomlValue::kind_name() const {
  switch (kind) {
    case Kind::text: return "a text";
    case Kind::integer: return "a whole number";
    case Kind::real: return "a number";
    case Kind::boolean: return "true or false";
    case Kind::array: return "a list";
    case Kind::table: return "a table";
  }
  return "";
}

const TomlValue* TomlValue::find(std::string_view key) const {
  for (const auto& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

const TomlValue& TomlValue::required(std::string_view key, std::string_view what) const {
  if (const TomlValue* value = find(key)) return *value;
  std::vector<std::string> present;
  for (const auto& entry : entries) present.push_back(entry.key);
  const std::string near = nearest_name(key, present);
  throw Error(where, fmt::format("{} needs the key '{}'{}", what, key,
                                 near.empty() ? "" : fmt::format(" (there is '{}')", near)));
}

void TomlValue::only_keys(std::string_view what, const std::vector<std::string>& known) const {
  for (const auto& entry : entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      throw Error(entry.where,
                  unknown_name_message(fmt::format("key of {}", what), one_line(entry.key), known));
}

namespace {

[[noreturn]] void wrong_kind(const TomlValue& v, std::string_view what, std::string_view expected) {
  throw Error(v.where, fmt::format("{} must be {}, not {}", what, expected, v.kind_name()));
}

}  // namespace

const SourceText& TomlValue::as_text(std::string_view what) const {
  if (!is_text()) wrong_kind(*this, what, "a text in quotes");
  return text;
}

std::int64_t TomlValue::as_integer(std::string_view what) const {
  if (kind != Kind::integer) wrong_kind(*this, what, "a whole number");
  return integer;
}

bool TomlValue::as_boolean(std::string_view what) const {
  if (kind != Kind::boolean) wrong_kind(*this, what, "true or false");
  return boolean;
}

const TomlValue& TomlValue::as_table(std::string_view what) const {
  if (!is_table()) wrong_kind(*this, what, "a table");
  return *this;
}

std::vector<SourceText> TomlValue::as_texts(std::string_view what) const {
  if (is_text()) return {text};
  if (!is_array()) wrong_kind(*this, what, "a text in quotes or a list of such texts");
  std::vector<SourceText> list;
  for (const auto& item : items) list.push_back(item.as_text(fmt::format("every entry of {}", what)));
  if (list.empty()) throw Error(where, fmt::format("{} is an empty list", what));
  return list;
}

nlohmann::json TomlValue::to_json() const {
  using Json = nlohmann::json;
  switch (kind) {
    case Kind::text: return text.text;
    case Kind::integer: return integer;
    case Kind::real: return real;
    case Kind::boolean: return boolean;
    case Kind::array: {
      Json list = Json::array();
      for (const auto& item : items) list.push_back(item.to_json());
      return list;
    }
    case Kind::table: break;
  }
  Json object = Json::object();
  for (const auto& entry : entries) object[entry.key] = entry.value.to_json();
  return object;
}

}  // namespace lather
