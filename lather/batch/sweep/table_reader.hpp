#pragma once
// Reads the tables of a sweep file: a key that is not asked for is an error.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lather/batch/training_request.hpp"
#include "lather/core/error.hpp"
#include "lather/core/formats/toml.hpp"

namespace lather::batch {

// One table of the file: its keys are asked for, then done() names what is left.
class TableReader {
 public:
  TableReader(const TomlValue& table, std::string what) : table_(table), what_(std::move(what)) {
    if (!table.is_table())
      throw Error(table.where, fmt::format("{} must be a table, not {}", what_, table.kind_name()));
  }
  const TomlValue* find(const char* key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
    return table_.find(key);
  }
  const TomlValue& required(const char* key) {
    known_.emplace_back(key);
    return table_.required(key, what_);
  }
  std::string text(const char* key, const std::string& otherwise = "") {
    const TomlValue* value = find(key);
    return value ? value->as_text(name_of(key)).text : otherwise;
  }
  std::string required_text(const char* key) {
    const auto& value = required(key).as_text(name_of(key));
    if (value.text.empty()) throw Error(value.where, fmt::format("{} must not be empty", name_of(key)));
    return value.text;
  }
  bool boolean(const char* key, bool otherwise) {
    const TomlValue* value = find(key);
    return value ? value->as_boolean(name_of(key)) : otherwise;
  }
  std::int64_t integer(const char* key, std::int64_t otherwise, std::int64_t least) {
    const TomlValue* value = find(key);
    if (!value) return otherwise;
    const std::int64_t number = value->as_integer(name_of(key));
    if (number < least)
      throw Error(value->where, fmt::format("{} must be at least {}, not {}", name_of(key), least, number));
    return number;
  }
  double positive(const char* key) {
    const TomlValue* value = find(key);
    if (!value) return 0;
    if (!value->is_number() || !(value->real > 0))
      throw Error(value->where, fmt::format("{} must be a positive number", name_of(key)));
    return value->real;
  }
  Settings settings(const char* key) {
    Settings list;
    if (const TomlValue* value = find(key)) flatten(value->as_table(name_of(key)), "", list);
    return list;
  }
  void done() const { table_.only_keys(what_, known_); }
  const SourceLocation& where() const { return table_.where; }
  std::string name_of(const char* key) const { return fmt::format("{} of {}", key, what_); }

  // network.width = 20 is a table in a table: lists the paths of everything that is not a table.
  static void flatten(const TomlValue& table, const std::string& path, Settings& list) {
    for (const auto& entry : table.entries) {
      const std::string here = path.empty() ? entry.key : path + "." + entry.key;
      if (entry.value.is_table())
        flatten(entry.value, here, list);
      else
        list.push_back({here, entry.value.to_json().dump(), entry.where});  // JSON values are TOML
    }
  }

 private:
  const TomlValue& table_;
  std::string what_;
  std::vector<std::string> known_;
};

}  // namespace lather::batch
