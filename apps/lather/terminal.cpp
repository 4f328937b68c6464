#include "terminal.hpp"

#include "lather/core/files.hpp"
#include "lather/core/text.hpp"

namespace lather::command {

void print_text(std::FILE* stream, const std::string& text) { fmt::print(stream, "{}", shown(text)); }

void replace_line(const std::string& text) {
  fmt::print("\r\033[K{}", shown(text));
  std::fflush(stdout);
}

void write_result(const std::string& out, const std::filesystem::path& usual, const std::string& bytes) {
  bool is_file = true;
  if (out.empty())
    write_file_atomically(usual, bytes);
  else
    is_file = write_output(out, bytes);
  if (is_file) say("{}\n", out.empty() ? usual.string() : out);
}

}  // namespace lather::command
