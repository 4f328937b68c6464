#include "lather/report/draw/glyphs.hpp"

#include <array>
#include <map>
#include <optional>
#include <sstream>

namespace lather::report {

namespace {

using namespace std::string_view_literals;

// Of the codes from 32, in thousandths of the size; 0: there is no such glyph.
constexpr std::array<short, 224> kHelvetica = {
    278, 278, 355, 556, 556, 889,  667,  191,  333, 333, 389,  584, 278, 333,  278,  278, 556, 556, 556,
    556, 556, 556, 556, 556, 556,  556,  278,  278, 584, 584,  584, 556, 1015, 667,  667, 722, 722, 667,
    611, 778, 722, 278, 500, 667,  556,  833,  722, 778, 667,  778, 722, 667,  611,  722, 667, 944, 667,
    667, 611, 278, 278, 278, 469,  556,  333,  556, 556, 500,  556, 556, 278,  556,  556, 222, 222, 500,
    222, 833, 556, 556, 556, 556,  333,  500,  278, 556, 500,  722, 500, 500,  500,  334, 260, 334, 584,
    350, 556, 350, 222, 556, 333,  1000, 556,  556, 333, 1000, 667, 333, 1000, 350,  611, 350, 350, 222,
    222, 333, 333, 350, 556, 1000, 333,  1000, 500, 333, 944,  350, 500, 667,  278,  333, 556, 556, 556,
    556, 260, 556, 333, 737, 370,  556,  584,  333, 737, 333,  400, 584, 333,  333,  333, 556, 537, 278,
    333, 333, 365, 556, 834, 834,  834,  611,  667, 667, 667,  667, 667, 667,  1000, 722, 667, 667, 667,
    667, 278, 278, 278, 278, 722,  722,  778,  778, 778, 778,  778, 584, 778,  722,  722, 722, 722, 667,
    667, 611, 556, 556, 556, 556,  556,  556,  889, 500, 556,  556, 556, 556,  278,  278, 278, 278, 556,
    556, 556, 556, 556, 556, 556,  584,  611,  556, 556, 556,  556, 500, 556,  500};
constexpr std::array<short, 224> kHelveticaBold = {
    278, 333, 474, 556, 556, 889,  722,  238,  333, 333, 389,  584, 278, 333,  278,  278, 556, 556, 556,
    556, 556, 556, 556, 556, 556,  556,  333,  333, 584, 584,  584, 611, 975,  722,  722, 722, 722, 667,
    611, 778, 722, 278, 556, 722,  611,  833,  722, 778, 667,  778, 722, 667,  611,  722, 667, 944, 667,
    667, 611, 333, 278, 333, 584,  556,  333,  556, 611, 556,  611, 556, 333,  611,  611, 278, 278, 556,
    278, 889, 611, 611, 611, 611,  389,  556,  333, 611, 556,  778, 556, 556,  500,  389, 280, 389, 584,
    350, 556, 350, 278, 556, 500,  1000, 556,  556, 333, 1000, 667, 333, 1000, 350,  611, 350, 350, 278,
    278, 500, 500, 350, 556, 1000, 333,  1000, 556, 333, 944,  350, 500, 667,  278,  333, 556, 556, 556,
    556, 280, 556, 333, 737, 370,  556,  584,  333, 737, 333,  400, 584, 333,  333,  333, 611, 556, 278,
    333, 333, 365, 556, 834, 834,  834,  611,  722, 722, 722,  722, 722, 722,  1000, 722, 667, 667, 667,
    667, 278, 278, 278, 278, 722,  722,  778,  778, 778, 778,  778, 584, 778,  722,  722, 722, 722, 667,
    667, 611, 556, 556, 556, 556,  556,  556,  889, 556, 556,  556, 556, 556,  278,  278, 278, 278, 611,
    611, 611, 611, 611, 611, 611,  584,  611,  611, 611, 611,  611, 556, 611,  556};
constexpr std::array<short, 224> kSymbol = {
    250, 333, 713, 500, 549,  833, 778,  439, 333, 333, 500, 549, 250, 549, 250, 278, 500,  500, 500,
    500, 500, 500, 500, 500,  500, 500,  278, 278, 549, 549, 549, 444, 549, 722, 667, 722,  612, 611,
    763, 603, 722, 333, 631,  722, 686,  889, 722, 722, 768, 741, 556, 592, 611, 690, 439,  768, 645,
    795, 611, 333, 863, 333,  658, 500,  500, 631, 549, 549, 494, 439, 521, 411, 603, 329,  603, 549,
    549, 576, 521, 549, 549,  521, 549,  603, 439, 576, 713, 686, 493, 686, 494, 480, 200,  480, 549,
    0,   790, 0,   0,   0,    0,   0,    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,    0,   0,
    0,   0,   0,   0,   0,    0,   0,    0,   0,   0,   0,   0,   0,   0,   750, 620, 247,  549, 167,
    713, 500, 753, 753, 753,  753, 1042, 987, 603, 987, 603, 400, 549, 411, 549, 549, 713,  494, 460,
    549, 549, 549, 549, 1000, 603, 1000, 658, 823, 686, 795, 987, 768, 768, 823, 768, 768,  713, 713,
    713, 713, 713, 713, 713,  768, 713,  790, 790, 890, 823, 549, 250, 713, 603, 603, 1042, 987, 603,
    987, 603, 494, 329, 790,  790, 786,  713, 384, 384, 384, 384, 384, 384, 494, 494, 494,  494, 0,
    329, 274, 686, 686, 686,  384, 384,  384, 384, 384, 384, 494, 494, 494, 0};

using Place = Glyph::Place;

// Windows' code page 1252 between 0x80 and 0x9f; 0: unused.
constexpr std::u32string_view kWindows = U"€\0‚ƒ„…†‡ˆ‰Š‹Œ\0Ž\0\0‘’“”•–—˜™š›œ\0žŸ"sv;
static_assert(kWindows.size() == 0x20);
// Greek letters from Α and from α, at their places in Symbol; there is no capital ς.
constexpr std::string_view kGreekCapitals = "ABGDEZHQIKLMNXOPR?STUFCYW";
constexpr std::string_view kGreekLetters = "abgdezhqiklmnxoprVstufcyw";
// The letters from Ā (U+0100) to ſ (U+017F) without their accents.
constexpr std::string_view kWithoutAccents =
    "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlLlLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSsSs"
    "TtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";
static_assert(kWithoutAccents.size() == 0x80);

const std::map<char32_t, Glyph>& signs() {
  static const std::map<char32_t, Glyph> known = [] {
    std::map<char32_t, Glyph> all;
    const auto add = [&](std::u32string_view characters, std::string_view codes, bool symbol, Place place) {
      for (std::size_t i = 0; i < characters.size(); ++i)
        all[characters[i]] = {static_cast<unsigned char>(codes[i]), symbol, place};
    };
    add(U"⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺⁽⁾ⁿⁱᵀ", "0123456789\x96+()niT", false, Place::raised);
    add(U"₀₁₂₃₄₅₆₇₈₉₋₊₍₎", "0123456789\x96+()", false, Place::lowered);
    add(U"−‐‑", "\x96--", false, Place::line);
    add(U"≤≥≠≈≡≅∼∝∞∂∇∆∑∏∫√⋅∗",
        "\xa3\xb3\xb9\xbb\xba@~\xb5\xa5\xb6\xd1"
        "D\xe5\xd5\xf2\xd6\xd7*",
        true, Place::line);
    add(U"←↑→↓↔⇐⇒⇔∈∉⊂⊃∩∪∀∃", "\xac\xad\xae\xaf\xab\xdc\xde\xdb\xce\xcf\xcc\xc9\xc7\xc8\"$", true,
        Place::line);
    add(U"⊗⊕⊥∧∨∅⟨⟩′″ϑϕϵΩ", "\xc4\xc5^\xd9\xda\xc6\xe1\xf1\xa2\xb2JjeW", true, Place::line);
    return all;
  }();
  return known;
}

bool is_invisible(char32_t c) {  // accents of the letter before, joiners, the mark of a byte order
  return (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200d) || c == 0xfeff;
}

Glyph glyph_of(char32_t c) {
  const auto plain = [](auto code) { return Glyph{static_cast<unsigned char>(code), false, Place::line}; };
  const auto greek = [](char code) { return Glyph{static_cast<unsigned char>(code), true, Place::line}; };
  if (const auto found = signs().find(c); found != signs().end()) return found->second;
  if ((c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c <= 0xff)) return plain(c);
  if (const auto at = kWindows.find(c); c != 0 && at != kWindows.npos) return plain(0x80 + at);
  if (c >= 0x100 && c < 0x100 + kWithoutAccents.size()) return plain(kWithoutAccents[c - 0x100]);
  if (c >= U'Α' && c <= U'Ω' && c != U'Ρ' + 1) return greek(kGreekCapitals[c - U'Α']);
  if (c >= U'α' && c <= U'ω') return greek(kGreekLetters[c - U'α']);
  if (c < 0x20 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f) return plain(' ');
  return {};
}

// The character at the beginning of `text`, which is removed; none for bytes that are not UTF-8.
std::optional<char32_t> take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  bool valid = length > 0 && length <= text.size();
  char32_t character = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; valid && i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    valid = (next & 0xc0) == 0x80;
    character = character << 6 | (next & 0x3fU);
  }
  text.remove_prefix(valid ? length : 1);
  return valid ? std::optional(character) : std::nullopt;
}

}  // namespace

std::vector<Glyph> glyphs_of(std::string_view text) {
  std::vector<Glyph> glyphs;
  while (!text.empty()) {
    const auto character = take_character(text);
    if (!character)
      glyphs.emplace_back();
    else if (!is_invisible(*character))
      glyphs.push_back(glyph_of(*character));
  }
  return glyphs;
}

double width_of(const Glyph& glyph, bool bold) {
  const auto& widths = glyph.symbol ? kSymbol : bold ? kHelveticaBold : kHelvetica;
  return 1e-3 * widths[glyph.code - 32U] * (glyph.place == Place::line ? 1 : kSmallGlyph);
}

double room_for(std::string_view text, double size, bool bold) {
  constexpr double kWidest = 1.22;  // Measured: DejaVu Sans over Helvetica, in our legends
  double width = 0;
  for (const auto& glyph : glyphs_of(text)) width += width_of(glyph, bold);
  return kWidest * size * width;
}

std::vector<std::string> bold_lines(const std::string& text, double size, double width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (lines.empty() || room_for(lines.back() + " " + word, size, true) > width)
      lines.push_back(word);
    else
      lines.back() += " " + word;
  }
  return lines;
}

}  // namespace lather::report
