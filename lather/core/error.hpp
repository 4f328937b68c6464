#pragma once
// Errors a person can act on: what is wrong, where, what was expected, and the nearest valid name.
// Thrown at the edge of the library (files, options, command line); inside, asserts.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lather {

// A place in a text the user wrote. Lines and columns count from 1; 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
  std::string str() const;  // "file:line:column", as far as known
};

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message), message_(message) {}
  Error(const SourceLocation& where, const std::string& message);
  const SourceLocation& where() const { return where_; }
  const std::string& message() const { return message_; }  // without the location

 private:
  SourceLocation where_;
  std::string message_;
};

// The candidate closest to `name` by edit distance, or "" if none is close enough to be a typo.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// "unknown optimizer 'adm'; did you mean 'adam'? (known: adam, adamw, …)"
std::string unknown_name_message(std::string_view what, std::string_view name,
                                 std::span<const std::string> candidates);

// For messages: control characters become blanks.
std::string one_line(std::string_view text);

}  // namespace lather
