#include "lather/core/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/whole_number.hpp"

namespace lather {

bool Range::contains(double value) const {
  if (std::isnan(value)) return false;
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string Range::str() const {
  if (std::isinf(low) && std::isinf(high)) return "";
  return fmt::format("{}{}, {}{}", low_open || std::isinf(low) ? '(' : '[',
                     std::isinf(low) ? "-inf" : fmt::format("{:g}", low),
                     std::isinf(high) ? "inf" : fmt::format("{:g}", high),
                     high_open || std::isinf(high) ? ')' : ']');
}

namespace options::detail {
namespace {

using Json = nlohmann::json;

class Writer final : public FieldVisitor {
 public:
  Json object = Json::object();
  void real(std::string_view name, double& value, std::string_view, Range) override {
    put(name, number(value));
  }
  void integer(std::string_view name, std::int64_t& value, std::string_view, Range) override {
    put(name, value);
  }
  void natural(std::string_view name, std::uint64_t& value, std::string_view) override { put(name, value); }
  void boolean(std::string_view name, bool& value, std::string_view) override { put(name, value); }
  void text(std::string_view name, std::string& value, std::string_view) override { put(name, value); }
  void reals(std::string_view name, std::vector<double>& value, std::string_view) override {
    put(name, numbers(value));
  }
  void other_reals(std::map<std::string, std::vector<double>>& values, std::string_view) override {
    for (const auto& [name, list] : values) put(name, numbers(list));
  }

 protected:
  void word_of(std::string_view name, std::string& value, std::string_view,
               const std::vector<std::string>&) override {
    if (!value.empty()) put(name, value);
  }
  void table_of(std::string_view name, std::string_view, const Table& table) override {
    if (!table.present) return;
    Writer inner;
    table.fields(inner);
    put(name, std::move(inner.object));
  }
  void list_of(std::string_view name, std::string_view, const List& list) override {
    if (list.size == 0) return;
    Json items = Json::array();
    for (std::size_t i = 0; i < list.size; ++i) {
      Writer inner;
      list.fields(i, inner);
      items.push_back(std::move(inner.object));
    }
    put(name, std::move(items));
  }

 private:
  void put(std::string_view name, Json value) { object[std::string(name)] = std::move(value); }
  // JSON has no infinity; the reader accepts the word.
  static Json number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? Json(nullptr) : Json(value > 0 ? "inf" : "-inf");
  }
  static Json numbers(const std::vector<double>& values) {
    Json list = Json::array();
    for (const double value : values) list.push_back(number(value));
    return list;
  }
};

class Describer final : public FieldVisitor {
 public:
  std::vector<FieldDescription> list;
  void real(std::string_view name, double& value, std::string_view help, Range range) override {
    add(name, "real", fmt::format("{:g}", value), range.str(), help);
  }
  void integer(std::string_view name, std::int64_t& value, std::string_view help, Range range) override {
    add(name, "integer", fmt::format("{}", value), range.str(), help);
  }
  void boolean(std::string_view name, bool& value, std::string_view help) override {
    add(name, "true/false", value ? "true" : "false", "", help);
  }
  void text(std::string_view name, std::string& value, std::string_view help) override {
    add(name, "text", value, "", help);
  }
  void reals(std::string_view name, std::vector<double>& value, std::string_view help) override {
    add(name, "list of reals", fmt::format("[{:g}]", fmt::join(value, ", ")), "", help);
  }
  void natural(std::string_view name, std::uint64_t& value, std::string_view help) override {
    add(name, "integer", fmt::format("{}", value), "[0, 2^64)", help);
  }
  void other_reals(std::map<std::string, std::vector<double>>&, std::string_view help) override {
    add("NAME", "list of reals", "", "", help);
  }

 protected:
  void table_of(std::string_view name, std::string_view help, const Table& table) override {
    const std::size_t before = list.size();
    nested(name, table.fields);
    if (list.size() == before) add(name, "table", "", "", help);
  }
  void list_of(std::string_view name, std::string_view help, const List&) override {
    add(name, "list of tables", "", "", help);
  }
  void word_of(std::string_view name, std::string& value, std::string_view help,
               const std::vector<std::string>& known) override {
    add(name, "word", value, fmt::format("{}", fmt::join(known, " | ")), help);
  }

 private:
  // Fields of a table inside this one are listed as "name.field".
  void nested(std::string_view name, const std::function<void(FieldVisitor&)>& fields) {
    const std::string outer = prefix_;
    prefix_ += fmt::format("{}.", name);
    fields(*this);
    prefix_ = outer;
  }
  void add(std::string_view name, std::string type, std::string value, std::string range,
           std::string_view help) {
    list.push_back({prefix_ + std::string(name), std::move(type), std::move(value), std::move(range),
                    std::string(help)});
  }
  std::string prefix_;
};

// Reads the fields that a table names; any other key is an error.
class Reader final : public FieldVisitor {
 public:
  Reader(std::string owner, const TomlValue& table) : owner_(std::move(owner)), table_(table) {}

  void real(std::string_view name, double& value, std::string_view, Range range) override {
    if (const TomlValue* given = find(name))
      value = checked(name, *given, number(name, *given, "a number"), range);
  }
  void integer(std::string_view name, std::int64_t& value, std::string_view, Range range) override {
    const TomlValue* given = find(name);
    if (!given) return;
    if (given->kind == TomlValue::Kind::integer) {
      checked(name, *given, given->real, range);
      value = given->integer;
      return;
    }
    const auto whole = whole_number(number(name, *given, "a whole number"));
    if (!whole) fail(name, *given, "a whole number");
    checked(name, *given, static_cast<double>(*whole), range);
    value = *whole;
  }
  void natural(std::string_view name, std::uint64_t& value, std::string_view) override {
    const TomlValue* given = find(name);
    if (!given) return;
    const char* expected = "a whole number in [0, 2^64)";
    if (given->kind == TomlValue::Kind::integer) {
      if (given->integer < 0) fail(name, *given, expected);
      value = static_cast<std::uint64_t>(given->integer);
    } else if (!given->is_text() || !parse(given->text.text, value)) {
      fail(name, *given, expected);
    }
  }
  void boolean(std::string_view name, bool& value, std::string_view) override {
    const TomlValue* given = find(name);
    if (!given) return;
    if (given->kind == TomlValue::Kind::boolean)
      value = given->boolean;
    else if (given->is_text() && (given->text.text == "true" || given->text.text == "false"))
      value = given->text.text == "true";
    else
      fail(name, *given, "true or false");
  }
  void text(std::string_view name, std::string& value, std::string_view) override {
    const TomlValue* given = find(name);
    if (!given) return;
    if (!given->is_text()) fail(name, *given, "a text");
    value = given->text.text;
  }
  void reals(std::string_view name, std::vector<double>& value, std::string_view) override {
    if (const TomlValue* given = find(name)) value = numbers(name, *given);
  }
  void other_reals(std::map<std::string, std::vector<double>>& values, std::string_view) override {
    for (const auto& entry : table_.entries)
      if (!known(entry.key)) {
        names_.push_back(entry.key);
        values[entry.key] = numbers(entry.key, entry.value);
      }
  }

  void require_known() const {
    for (const auto& entry : table_.entries)
      if (!known(entry.key))
        throw Error(entry.where, unknown_name_message("option of " + owner_, entry.key, names_));
  }

 protected:
  void word_of(std::string_view name, std::string& value, std::string_view,
               const std::vector<std::string>& words) override {
    const TomlValue* given = find(name);
    if (!given) return;
    if (!given->is_text()) fail(name, *given, fmt::format("one of: {}", fmt::join(words, ", ")));
    const std::string& word = given->text.text;
    if (std::find(words.begin(), words.end(), word) == words.end())
      throw Error(given->where, path(name) + ": " + unknown_name_message("value", word, words));
    value = word;
  }
  void table_of(std::string_view name, std::string_view, const Table& table) override {
    const TomlValue* given = find(name);
    if (!given) return;
    TomlValue wrapped;
    if (!given->is_table()) {
      if (table.shorthand.empty()) fail(name, *given, "a table");
      wrapped.where = given->where;
      wrapped.entries.push_back({std::string(table.shorthand), given->where, *given});
      given = &wrapped;
    }
    std::vector<std::string> keys;
    for (const auto& entry : given->entries) keys.push_back(entry.key);
    table.create(keys);
    Reader inner(path(name), *given);
    table.fields(inner);
    inner.require_known();
  }
  void list_of(std::string_view name, std::string_view, const List& list) override {
    const TomlValue* given = find(name);
    if (!given) return;
    if (!given->is_array()) fail(name, *given, "a list of tables");
    list.resize(given->items.size());
    for (std::size_t i = 0; i < given->items.size(); ++i) {
      if (!given->items[i].is_table()) fail(name, given->items[i], "a table");
      Reader inner(path(name), given->items[i]);
      list.fields(i, inner);
      inner.require_known();
    }
  }

 private:
  bool known(const std::string& key) const {
    return std::find(names_.begin(), names_.end(), key) != names_.end();
  }
  const TomlValue* find(std::string_view name) {
    names_.emplace_back(name);
    return table_.find(name);
  }
  std::string path(std::string_view name) const { return fmt::format("{}.{}", owner_, name); }
  template <class Number>
  static bool parse(const std::string& text, Number& value) {
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data(), end, value);
    return status == std::errc() && stop == end;
  }
  double number(std::string_view name, const TomlValue& given, const char* expected) const {
    double parsed = 0;
    if (given.is_number()) return given.real;
    if (given.is_text() && parse(given.text.text, parsed)) return parsed;
    fail(name, given, expected);
  }
  std::vector<double> numbers(std::string_view name, const TomlValue& given) const {
    constexpr const char* kExpected = "a list of numbers such as [1, 2, 3]";
    std::vector<double> read;
    if (given.is_text()) {
      const Json list = Json::parse(given.text.text, nullptr, false);
      if (!list.is_array()) fail(name, given, kExpected);
      for (const auto& item : list) {
        if (!item.is_number()) fail(name, given, kExpected);
        read.push_back(item.get<double>());
      }
      return read;
    }
    if (!given.is_array()) fail(name, given, kExpected);
    for (const auto& item : given.items) read.push_back(number(name, item, kExpected));
    return read;
  }
  double checked(std::string_view name, const TomlValue& given, double value, const Range& range) const {
    if (range.contains(value)) return value;
    const auto interval = range.str();
    fail(name, given, interval.empty() ? "a number" : "a value in " + interval);
  }
  [[noreturn]] void fail(std::string_view name, const TomlValue& given, const std::string& expected) const {
    throw Error(given.where,
                fmt::format("{}: expected {}, got {}", path(name), expected, given.to_json().dump()));
  }

  std::string owner_;
  const TomlValue& table_;
  std::vector<std::string> names_;
};

}  // namespace

nlohmann::json to_json(void* self, Fields fields) {
  Writer writer;
  fields(self, writer);
  return writer.object;
}

void read(void* self, Fields fields, const std::string& owner, const TomlValue& table) {
  Reader reader(owner, table);
  fields(self, reader);
  reader.require_known();
}

std::vector<FieldDescription> describe(void* self, Fields fields) {
  Describer describer;
  fields(self, describer);
  return describer.list;
}

TomlValue tree_of(const Json& object) { return object.is_null() ? TomlValue{} : toml_from_json(object, {}); }
TomlValue tree_of(const std::string& key, const Json& value) { return tree_of(Json{{key, value}}); }

}  // namespace options::detail
}  // namespace lather
