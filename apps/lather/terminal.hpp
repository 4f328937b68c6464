#pragma once
// All that the command prints. Texts from files (titles, names, messages) may hold escape sequences; whatever is printed
// goes through `shown` (core/text.hpp), so a terminal shows them and obeys none.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

namespace lather::command {

void print_text(std::FILE* stream, const std::string& text);

// On standard output.
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  print_text(stdout, fmt::format(format, std::forward<Values>(values)...));
}

// On standard error.
template <class... Values>
void say_aside(fmt::format_string<Values...> format, Values&&... values) {
  print_text(stderr, fmt::format(format, std::forward<Values>(values)...));
}

// Replaces the line that the cursor is in.
void replace_line(const std::string& text);

// Writes a result and says where it is: to `out`, what the user asked for, as it is (core/files.hpp, write_output), or
// to the file `usual`. Nothing is said about what goes into a FIFO or a device, as that may be this output.
void write_result(const std::string& out, const std::filesystem::path& usual, const std::string& bytes);

}  // namespace lather::command
