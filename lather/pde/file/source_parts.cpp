#include "lather/pde/file/source_parts.hpp"

#include <cctype>

namespace lather::pde {

namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

int change_of_depth(char c) { return c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0; }

}  // namespace

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

SourceText part_of(const SourceText& whole, std::size_t begin, std::size_t end) {
  while (begin < end && std::string_view(" \t\r\n").find(whole.text[begin]) != std::string_view::npos)
    ++begin;
  SourceText piece{trimmed(std::string_view(whole.text).substr(begin, end - begin)), whole.place(begin), {}};
  if (!whole.places.empty()) {
    const auto first = whole.places.begin() + static_cast<std::ptrdiff_t>(begin);
    piece.places.assign(first, first + static_cast<std::ptrdiff_t>(piece.text.size()) + 1);
  }
  return piece;
}

std::vector<SourceText> split(const SourceText& whole, char separator) {
  std::vector<SourceText> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= whole.text.size(); ++i) {
    const char c = i < whole.text.size() ? whole.text[i] : separator;
    depth += change_of_depth(c);
    if (i == whole.text.size() || (c == separator && depth <= 0)) {
      parts.push_back(part_of(whole, begin, i));
      begin = i + 1;
    }
  }
  return parts;
}

std::vector<SourceText> split_at_word(const SourceText& whole, std::string_view word) {
  std::vector<SourceText> parts;
  const std::string_view text = whole.text;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += change_of_depth(text[i]);
    const bool starts = i == 0 || !is_word_character(text[i - 1]);
    const std::size_t end = i + word.size();
    if (depth > 0 || !starts || text.substr(i, word.size()) != word ||
        (end < text.size() && is_word_character(text[end])))
      continue;
    parts.push_back(part_of(whole, begin, i));
    begin = end;
    i = end - 1;
  }
  parts.push_back(part_of(whole, begin, text.size()));
  return parts;
}

bool is_in_parentheses(std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += change_of_depth(text[i]);
    if (depth == 0 && i + 1 < text.size()) return false;
  }
  return depth == 0;
}

}  // namespace lather::pde
