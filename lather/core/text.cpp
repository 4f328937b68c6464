#include "lather/core/text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace lather {

namespace {

// A character of UTF-8 with its length; size 0: these bytes are none.
struct Character {
  char32_t code = 0;
  std::size_t size = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  char32_t code = lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, size};
}

bool commands_terminal(char32_t c) {
  return (c < 32 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||  // C0 and C1
         c == 0x061c || (c >= 0x200e && c <= 0x200f) ||                    // direction marks
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);     // separators, overrides, isolates
}

bool is_allowed_in_xml(char32_t c) { return c >= 32 ? c != 0xfffe && c != 0xffff : c == '\n' || c == '\t'; }

// Calls character(c, bytes) or, where there is none, byte(b).
template <class OnCharacter, class OnByte>
void for_each_character(std::string_view text, OnCharacter&& character, OnByte&& byte) {
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.size > 0)
      character(c.code, text.substr(0, c.size));
    else
      byte(static_cast<unsigned char>(text[0]));
    text.remove_prefix(c.size > 0 ? c.size : 1);
  }
}

}  // namespace

std::string shown(std::string_view text) {
  std::string out;
  for_each_character(
      text,
      [&](char32_t c, std::string_view bytes) {
        if (commands_terminal(c))
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        else
          out += bytes;
      },
      [&](unsigned char byte) { fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte); });
  return out;
}

bool is_utf8(std::string_view text) {
  bool whole = true;
  for_each_character(
      text, [](char32_t, std::string_view) {}, [&](unsigned char) { whole = false; });
  return whole;
}

std::string markup(std::string_view text) {
  constexpr std::string_view kReplacement = "\uFFFD";
  std::string out;
  for_each_character(
      text,
      [&](char32_t c, std::string_view bytes) {
        switch (c) {
          case '&': out += "&amp;"; break;
          case '<': out += "&lt;"; break;
          case '>': out += "&gt;"; break;
          case '"': out += "&quot;"; break;
          default: out += is_allowed_in_xml(c) ? bytes : kReplacement;
        }
      },
      [&](unsigned char) { out += kReplacement; });
  return out;
}

}  // namespace lather
