#pragma once
// Text in the fonts that every reader of PDF has: Helvetica, its bold face, and Symbol for Greek letters and signs.

#include <string>
#include <string_view>
#include <vector>

namespace lather::report {

struct Glyph {
  enum class Place { line, raised, lowered };
  unsigned char code = '?';  // in WinAnsiEncoding, or in Symbol's own encoding
  bool symbol = false;
  Place place = Place::line;
};
inline constexpr double kSmallGlyph = 0.65;  // size of raised and lowered glyphs, relative to the others

// Of UTF-8. Letters that the fonts lack lose their accents; other characters that they lack are question marks.
std::vector<Glyph> glyphs_of(std::string_view text);

// In PDF, for a size of 1.
double width_of(const Glyph& glyph, bool bold);

// Enough for `text` in any usual font without serifs: those of browsers are wider than Helvetica.
double room_for(std::string_view text, double size, bool bold = false);

// Bold lines that have room within `width`, unless a word alone is wider.
std::vector<std::string> bold_lines(const std::string& text, double size, double width);

}  // namespace lather::report
