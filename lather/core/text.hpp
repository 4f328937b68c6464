#pragma once
// Text from elsewhere (titles, names, messages, file names) on its way to a terminal or a page.

#include <string>
#include <string_view>

namespace lather {

// For terminals: what would move the cursor, change colours or reorder the line is shown as \u001b, and bytes that are
// not UTF-8 as \x9b. Line feeds and tabs stay.
std::string shown(std::string_view text);

// For HTML and XML, also within double quotes: &lt; and so on; what XML does not allow becomes U+FFFD.
std::string markup(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace lather
