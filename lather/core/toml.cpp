#include "lather/core/toml.hpp"

// toml++ 3.3 asserts that "[" is followed by a key, or lets clang's optimizer assume it, before it reports
// that it is not. Both must be off: a broken file is an error, not a crash.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace lather {

SourceLocation SourceText::place(std::size_t position) const {
  SourceLocation at = where;
  if (places.empty()) {
    at.column += static_cast<int>(position);
  } else {
    const Place& p = places[std::min(position, places.size() - 1)];
    at.line = p.line;
    at.column = p.column;
  }
  return at;
}

namespace {

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  return out;
}

// Walks over the raw text of a quoted string and notes where each byte of its value comes from.
class StringWalk {
 public:
  StringWalk(std::string_view raw, SourceText::Place start) : raw_(raw), at_(start) {}

  // The places of all bytes of `value`, or nothing if the raw text does not match it.
  std::vector<SourceText::Place> places(std::string_view value) {
    const char quote = raw_.empty() ? 0 : raw_[0];
    if (quote != '"' && quote != '\'') return {};
    const bool multiline = raw_.substr(0, 3) == std::string(3, quote);
    skip(multiline ? 3 : 1);
    if (multiline && peek() == '\r') skip(1);
    if (multiline && peek() == '\n') skip(1);
    std::vector<SourceText::Place> result;
    for (std::size_t i = 0; i < value.size();) {
      if (quote == '"' && peek() == '\\') {
        const char kind = peek(1);
        if (kind == '\n' || kind == '\r' || kind == ' ' || kind == '\t') {  // a line ending in a backslash
          skip(1);
          while (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\n') skip(1);
          continue;
        }
        const std::size_t bytes = kind == 'u' || kind == 'U' ? utf8_length(value[i]) : 1;
        result.insert(result.end(), bytes, at_);
        skip(kind == 'u' ? 6 : kind == 'U' ? 10 : 2);
        i += bytes;
      } else {
        if (peek() == '\r' && value[i] == '\n') skip(1);
        if (peek() != value[i]) return {};
        result.push_back(at_);
        skip(1);
        ++i;
      }
    }
    result.push_back(at_);
    return result;
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return position_ + ahead < raw_.size() ? raw_[position_ + ahead] : '\0';
  }
  static std::size_t utf8_length(char lead) {
    const auto byte = static_cast<unsigned char>(lead);
    return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  }
  void skip(std::size_t count) {
    for (std::size_t k = 0; k < count && position_ < raw_.size(); ++k) {
      const char c = raw_[position_++];
      if (c == '\n')
        at_ = {at_.line + 1, 1};
      else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
        ++at_.column;
    }
  }

  std::string_view raw_;
  std::size_t position_ = 0;
  SourceText::Place at_;
};

class Converter {
 public:
  Converter(std::string_view raw, std::string file) : raw_(raw), file_(std::move(file)) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < raw.size(); ++i)
      if (raw[i] == '\n') line_starts_.push_back(i + 1);
  }

  SourceLocation location(const toml::source_position& p) const {
    return {file_, static_cast<int>(p.line), static_cast<int>(p.column)};
  }

  TomlValue value(const toml::node& node) const {
    TomlValue v;
    v.where = location(node.source().begin);
    if (const auto* table = node.as_table()) {
      v.kind = TomlValue::Kind::table;
      for (const auto& [key, child] : *table)
        v.entries.push_back({std::string(key.str()), location(key.source().begin), value(child)});
      std::stable_sort(v.entries.begin(), v.entries.end(), [](const TomlEntry& a, const TomlEntry& b) {
        return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
      });
    } else if (const auto* array = node.as_array()) {
      v.kind = TomlValue::Kind::array;
      for (const auto& child : *array) v.items.push_back(value(child));
    } else if (const auto* text = node.as_string()) {
      v.kind = TomlValue::Kind::text;
      v.text = source_text(text->get(), v.where);
    } else if (const auto* integer = node.as_integer()) {
      v.kind = TomlValue::Kind::integer;
      v.integer = integer->get();
      v.real = static_cast<double>(v.integer);
    } else if (const auto* real = node.as_floating_point()) {
      v.kind = TomlValue::Kind::real;
      v.real = real->get();
      if (!std::isfinite(v.real)) throw Error(v.where, fmt::format("the number {} is not finite", v.real));
    } else if (const auto* boolean = node.as_boolean()) {
      v.kind = TomlValue::Kind::boolean;
      v.boolean = boolean->get();
    } else {
      throw Error(v.where, "dates and times have no meaning here");
    }
    return v;
  }

 private:
  SourceText source_text(const std::string& value, const SourceLocation& begin) const {
    SourceText text{value, begin, {}};
    const std::size_t start = offset(begin);
    text.places = StringWalk(raw_.substr(start), {begin.line, begin.column}).places(value);
    if (text.places.empty()) {  // not a plain quoted string: all of it stands where it begins
      text.places.assign(value.size() + 1, {begin.line, begin.column});
      return text;
    }
    text.where.line = text.places.front().line;
    text.where.column = text.places.front().column;
    const auto side_by_side = [&] {
      for (std::size_t i = 0; i < text.places.size(); ++i)
        if (text.places[i].line != text.where.line ||
            text.places[i].column != text.where.column + static_cast<int>(i))
          return false;
      return true;
    };
    if (side_by_side()) text.places.clear();
    return text;
  }

  // Columns count characters, not bytes.
  std::size_t offset(const SourceLocation& at) const {
    if (at.line < 1 || at.line > static_cast<int>(line_starts_.size())) return raw_.size();
    std::size_t i = line_starts_[at.line - 1];
    for (int column = 1; column < at.column && i < raw_.size(); ++column) {
      ++i;
      while (i < raw_.size() && (static_cast<unsigned char>(raw_[i]) & 0xc0) == 0x80) ++i;
    }
    return i;
  }

  std::string_view raw_;
  std::string file_;
  std::vector<std::size_t> line_starts_;
};

// Brackets are limited by toml++ itself, but a key such as a.a.a.a… nests one table per dot and would exhaust
// the stack.
void limit_dotted_keys(std::string_view text, const std::string& file_name) {
  constexpr int kMostDots = 100;
  int line = 1, column = 0, dots = 0;
  char quote = 0;
  for (const char c : text) {
    ++column;
    if (c == '\n') {
      ++line;
      column = dots = 0;
      quote = 0;
    } else if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == ',' || c == '=' || c == '{' || c == '[') {
      dots = 0;
    } else if (c == '.' && ++dots > kMostDots) {
      throw Error({file_name, line, column},
                  fmt::format("a key is nested more than {} levels deep", kMostDots));
    }
  }
}

}  // namespace

TomlValue parse_toml(std::string_view text, const std::string& file_name) {
  if (text.size() > kMaxTomlBytes)
    throw Error({file_name, 0, 0},
                fmt::format("the file has {} bytes; at most {} are read", text.size(), kMaxTomlBytes));
  limit_dotted_keys(text, file_name);
  const auto result = toml::parse(text);
  const Converter converter(text, file_name);
  if (!result)
    throw Error(converter.location(result.error().source().begin),
                "not valid TOML: " + one_line(result.error().description()));
  TomlValue root = converter.value(result.table());
  root.where = {file_name, 1, 1};
  return root;
}

TomlValue read_toml(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(fmt::format("cannot open '{}'", path));
  std::string text(kMaxTomlBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw Error(fmt::format("cannot read '{}'", path));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaxTomlBytes)
    throw Error({path, 0, 0}, fmt::format("the file has more than {} bytes", kMaxTomlBytes));
  return parse_toml(text, path);
}

void set_toml(TomlValue& root, const std::string& path, const std::string& value) {
  const SourceLocation where{fmt::format("--set {}={}", path, value), 0, 0};
  TomlValue* at = &root;
  std::size_t start = 0;
  for (;;) {
    const std::size_t dot = path.find('.', start);
    const std::string key = path.substr(start, dot - start);
    if (key.empty()) throw Error(where, "expected a path such as parameters.nu");
    if (at->is_array()) {
      const auto named = [&](const TomlValue& item) {
        const TomlValue* name = item.is_table() ? item.find("name") : nullptr;
        return name && name->is_text() && name->text.text == key;
      };
      const auto item = std::find_if(at->items.begin(), at->items.end(), named);
      if (item == at->items.end()) throw Error(where, fmt::format("there is no entry named '{}'", key));
      at = &*item;
    } else {
      if (!at->is_table()) throw Error(where, fmt::format("'{}' is not inside a table", key));
      auto entry = std::find_if(at->entries.begin(), at->entries.end(),
                                [&](const TomlEntry& e) { return e.key == key; });
      if (entry == at->entries.end()) {
        TomlValue table;
        table.where = where;
        at->entries.push_back({key, where, std::move(table)});
        entry = at->entries.end() - 1;
      }
      at = &entry->value;
    }
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  if (const auto result = toml::parse("v = " + value); result && result.table().size() == 1) {
    *at = Converter("v = " + value, where.file).value(*result.table().get("v"));
  } else {
    *at = TomlValue{};
    at->kind = TomlValue::Kind::text;
    at->text = {value, where, {}};
  }
  at->where = where;
}

std::string_view TomlValue::kind_name() const {
  switch (kind) {
    case Kind::text:
      return "a text";
    case Kind::integer:
      return "a whole number";
    case Kind::real:
      return "a number";
    case Kind::boolean:
      return "true or false";
    case Kind::array:
      return "a list";
    case Kind::table:
      return "a table";
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
    case Kind::text:
      return text.text;
    case Kind::integer:
      return integer;
    case Kind::real:
      return real;
    case Kind::boolean:
      return boolean;
    case Kind::array: {
      Json list = Json::array();
      for (const auto& item : items) list.push_back(item.to_json());
      return list;
    }
    case Kind::table:
      break;
  }
  Json object = Json::object();
  for (const auto& entry : entries) object[entry.key] = entry.value.to_json();
  return object;
}

}  // namespace lather
