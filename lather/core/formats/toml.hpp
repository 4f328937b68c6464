#pragma once
// A TOML text as a tree that remembers where everything was, so that errors can point at it. Tables keep the
// order in which they were written. Only toml.cpp uses toml++.

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lather/core/error.hpp"

namespace lather {

// A text inside a file, and where each of its bytes is.
struct SourceText {
  struct Place {
    int line = 0, column = 0;
  };
  std::string text;
  SourceLocation where;       // of the first byte
  std::vector<Place> places;  // one per byte and one for the end; empty: consecutive on one line

  SourceLocation place(std::size_t position) const;
};

struct TomlEntry;

struct TomlValue {
  enum class Kind { text, integer, real, boolean, array, table };
  Kind kind = Kind::table;
  SourceLocation where;
  SourceText text;
  std::int64_t integer = 0;
  double real = 0;  // also set for integers
  bool boolean = false;
  std::vector<TomlValue> items;    // array
  std::vector<TomlEntry> entries;  // table

  bool is_text() const { return kind == Kind::text; }
  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  bool is_array() const { return kind == Kind::array; }
  bool is_table() const { return kind == Kind::table; }
  std::string_view kind_name() const;  // "a text", "a number", …

  const TomlValue* find(std::string_view key) const;
  // Throws Error at this table if the key is missing; `what` names the table: "[network]".
  const TomlValue& required(std::string_view key, std::string_view what) const;
  // Throws Error at the first key that is not among `known`, naming the nearest one.
  void only_keys(std::string_view what, const std::vector<std::string>& known) const;

  // Values of one kind; `what` names the value in the error.
  const SourceText& as_text(std::string_view what) const;
  std::int64_t as_integer(std::string_view what) const;
  bool as_boolean(std::string_view what) const;
  const TomlValue& as_table(std::string_view what) const;
  std::vector<SourceText> as_texts(std::string_view what) const;  // a text, or a list of texts

  nlohmann::json to_json() const;
};

struct TomlEntry {
  std::string key;
  SourceLocation where;
  TomlValue value;
};

TomlValue make_table(std::vector<TomlEntry> entries, const SourceLocation& where = {});

inline constexpr std::size_t kMaxTomlBytes = 1 << 20;

// Throws Error with the place for anything that is not TOML, for numbers that are not finite, for dates, and
// for more than kMaxTomlBytes.
TomlValue parse_toml(std::string_view text, const std::string& file_name);
TomlValue read_toml(const std::string& path);

// A JSON object as such a tree; every value is placed at `where`.
TomlValue toml_from_json(const nlohmann::json& json, const SourceLocation& where);

// A JSON value as one line of TOML. Scalars are the same in both; there is no null.
std::string toml_text(const nlohmann::json& value);

// Merges `over` into `table`: tables are merged key by key, anything else is replaced.
void merge_toml(TomlValue& table, const TomlValue& over);

// Sets the value at a path such as "parameters.nu" or "equation.momentum.weight" (a list of tables is entered
// by `name`). `value` is TOML; anything else is taken as a text. Errors are located at `place`, or without one at
// "--set PATH=VALUE".
void set_toml(TomlValue& root, const std::string& path, const std::string& value,
              const SourceLocation& place = {});
// "--set PATH=VALUE".
SourceLocation place_of_setting(const std::string& path, const std::string& value);

}  // namespace lather
