#pragma once
// Parts of a text in a file that remember where they were.

#include <vector>

#include "lather/core/formats/toml.hpp"

namespace lather::pde {

std::string trimmed(std::string_view text);

// Characters [begin, end), without blanks around them.
SourceText part_of(const SourceText& whole, std::size_t begin, std::size_t end);

// Splits at separators outside parentheses and brackets.
std::vector<SourceText> split(const SourceText& whole, char separator);
// The same at a word, which must stand alone.
std::vector<SourceText> split_at_word(const SourceText& whole, std::string_view word);

// Whether the text is one pair of parentheses around something.
bool is_in_parentheses(std::string_view text);

}  // namespace lather::pde
