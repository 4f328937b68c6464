#include "lather/core/formats/json_places.hpp"

#include <algorithm>

namespace lather {

namespace {

class JsonPlaces {
 public:
  JsonPlaces(std::string_view text, const std::string& file) : text_(text), where_{file, 1, 1} {}

  void value(TomlValue& node) {
    skip_blanks();
    node.where = node.text.where = where_;
    switch (here()) {
      case '{': object(node); break;
      case '[': array(node); break;
      case '"': string(); break;
      default: skip();
    }
  }

 private:
  void object(TomlValue& node) {
    next();
    for (skip_blanks(); !at_end() && here() != '}'; skip_blanks()) {
      const SourceLocation where = where_;
      const std::string_view key = string();
      skip_blanks();
      next();  // the colon
      const auto entry = std::find_if(node.entries.begin(), node.entries.end(),
                                      [&](const TomlEntry& candidate) { return candidate.key == key; });
      if (entry == node.entries.end()) {
        skip();
      } else {
        entry->where = where;
        value(entry->value);
      }
      skip_comma();
    }
    next();
  }

  void array(TomlValue& node) {
    next();
    skip_blanks();
    for (std::size_t i = 0; !at_end() && here() != ']'; ++i, skip_blanks()) {
      i < node.items.size() ? value(node.items[i]) : skip();
      skip_comma();
    }
    next();
  }

  // Skips a value of any depth, without recursion.
  void skip() {
    int depth = 0;
    for (; !at_end(); next()) {
      while (here() == '"') string();
      if (here() == '{' || here() == '[') ++depth;
      if (depth == 0 && (here() == ',' || here() == '}' || here() == ']')) return;
      if (here() == '}' || here() == ']') --depth;
    }
  }

  // As it is written, without its quotes.
  std::string_view string() {
    next();
    const std::size_t begin = at_;
    for (; !at_end() && here() != '"'; next())
      if (here() == '\\') next();
    const std::string_view content = text_.substr(begin, at_ - begin);
    next();
    return content;
  }

  void skip_blanks() {
    while (!at_end() && std::string_view(" \t\r\n").find(here()) != std::string_view::npos) next();
  }
  void skip_comma() {
    skip_blanks();
    if (here() == ',') next();
  }
  bool at_end() const { return at_ >= text_.size(); }
  char here() const { return at_end() ? '\0' : text_[at_]; }
  void next() {
    if (at_end()) return;
    ++where_.column;
    if (text_[at_++] == '\n') ++where_.line, where_.column = 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  SourceLocation where_;
};

}  // namespace

void place_values(TomlValue& tree, std::string_view json, const std::string& file) {
  JsonPlaces(json, file).value(tree);
}

}  // namespace lather
